//! Inputs of `tls_records`.

use super::Seeds;

/// Each kind of step has its place in a seed.
pub(super) fn seeds() -> Seeds {
    // Data, a new key, and an acknowledgement, each in a record of its own.
    let data: [u8; 4] = [0, 0, 9, 7];
    let update: [u8; 4] = [0, 0, 90, 1];
    let known: [u8; 4] = [0, 0, 160, 0];
    let mut all = Vec::new();
    for setup in 0..6_u8 {
        let steps = [
            &[setup][..],
            &data,
            &[110, 0],
            &[1, 160, 9, 8, 2, 0, 9, 9, 3, 0, 9, 10, 110, 1],
            &[195, 9, 195, 9, 195, 9, 195, 9],
            &known,
            &[110, 0, 195, 3],
            &update,
            &[110, 0],
            &data,
            &[5, 0, 9, 4, 110, 0, 7, 0, 9, 5, 110, 0],
            &[130, 0, 110, 0],
            &data,
            &[145, 9, 110, 0],
            &data,
            &[
                160, 9, 110, 0, 165, 1, 9, 1, 110, 0, 175, 3, 1, 2, 3, 110, 0,
            ],
            &[180, 0, 180, 255],
            &[
                0, 250, 9, 3, 0, 240, 9, 4, 0, 230, 9, 5, 110, 0, 8, 199, 9, 1, 110, 0,
            ],
            &[0, 0, 131, 0, 1, 0, 4, 7, 110, 0],
            &[100, 9, 9, 7, 110, 0],
            &[0, 0, 200, 0, 110, 0, 1, 0, 9, 1, 110, 0, 253, 0, 195, 1],
        ];
        all.push((format!("seed-{setup}"), steps.concat()));
    }
    all
}
