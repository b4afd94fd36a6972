//! Models of tasks and drivers on several threads, run in every order of their steps.

mod ends;
mod waits;
