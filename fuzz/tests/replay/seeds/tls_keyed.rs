//! Inputs of `tls_keyed`.

use super::Seeds;

/// Each kind of step has its place in a seed.
pub(super) fn seeds() -> Seeds {
    // A part of a message that is as long as it says: type by its place in `MESSAGES`, number, length.
    let part = |kind: u8, number: u8, length: u8| [1, kind, number, 255, 0, length, 0, 0, 0];
    let data = |high: u8, low: u8| [200, low, high];
    let mut all = Vec::new();
    for setup in 0..4_u8 {
        let steps = [
            &[setup][..],
            &[32, 5],
            &data(0, 50),
            &[0, 0],
            &data(0x3f, 0),
            &[120, 5],
            &[225, 0, 235, 0, 200, 0, 120, 0],
            &[0, 0],
            &part(7, 3, 1),
            &[0, 0],
            &part(2, 4, 90),
            &[210, 9, 120, 1],
            &[185, 4, 1, 2, 3, 4, 220, 9, 120, 0],
            &[160, 0],
            &part(4, 2, 60),
            &[120, 0, 250, 0, 0, 0, 160, 2, 1, 0, 120, 0],
        ];
        all.push((format!("seed-open-{setup}"), steps.concat()));
        let forged = [
            &[setup | 3 << 2][..],
            &part(4, 2, 255),
            &part(5, 3, 70),
            &part(6, 4, 32),
            &[160, 0],
            &part(4, 3, 20),
            &[225, 0, 160, 0],
            &part(6, 2, 32),
            &[120, 2],
        ];
        all.push((format!("seed-forged-{setup}"), forged.concat()));
    }
    all
}
