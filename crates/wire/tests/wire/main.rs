//! Tests of the codec through its public interface.

mod adversarial;
mod golden;
mod properties;
mod wireshark;
