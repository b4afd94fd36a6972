//! The repair of a damaged store: what cannot be read is set aside, and the rest stays.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::list::read_listed;
use crate::name::Name;
use crate::part::{Part, PartWriter};
use crate::record::Origin;
use crate::regular;
use crate::segment::{ASIDE, ENDING};
use crate::store::{Store, check_folders, check_format, has_end, is_part, is_store, name, paths};
use crate::upkeep::alone;

impl Store {
    /// Opens the store in `folder`, whose files may be damaged. A damaged file, and the folder of a damaged part, get a
    /// name with `.damaged` at its end, which nothing reads; what the part has besides the damage goes into a new one.
    /// The runs that are lost are done again when a sweep wants them. The segments of processes that ended without
    /// notice on other machines are compacted: call it when no sweep is at work there.
    ///
    /// Returns the store and what was set aside, by the new names.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn repair(folder: &Path, origin: Origin) -> Result<(Self, Vec<PathBuf>), StoreError> {
        let manifest = match check_format(folder) {
            Err(StoreError::Damaged { path, .. }) if is_store(folder) => Some(path),
            Err(StoreError::NoStore(_)) if is_store(folder) => None,
            checked => checked.map(|()| None)?,
        };
        check_folders(folder)?;
        let lock = alone(folder)?;
        let mut damaged: Vec<PathBuf> = manifest.into_iter().collect();
        damaged.extend(damaged_parts(folder, &origin.host)?);
        for path in paths(&folder.join("sweeps"))? {
            if has_end(&path, "json")
                && matches!(read_listed(&path), Err(StoreError::Damaged { .. }))
            {
                damaged.push(path);
            }
        }
        for path in paths(&folder.join("segments"))? {
            if has_end(&path, ENDING) && regular::check(&path).is_err() {
                damaged.push(path);
            }
        }
        let aside = damaged.iter().map(|path| set_aside(path));
        let mut aside = aside.collect::<Result<Vec<_>, _>>()?;
        drop(lock);
        let mut store = Self::open(folder, origin)?;
        let broken = store.segments.iter().filter(|it| it.damaged > 0);
        let broken: Vec<PathBuf> = broken.map(|it| it.path.with_extension(ASIDE)).collect();
        store.compact_all()?;
        // A segment whose process is still at work stays.
        aside.extend(broken.into_iter().filter(|it| it.exists()));
        Ok((store, aside))
    }
}

/// Returns the damaged parts. What can be read of them is in new parts now, which replace them.
fn damaged_parts(store: &Path, host: &str) -> Result<Vec<PathBuf>, StoreError> {
    let mut parts = paths(&store.join("parts"))?;
    parts.retain(|path| is_part(path));
    let mut damaged = Vec::new();
    let mut replaced = BTreeSet::new();
    // The newest first, so that none is looked at that another one replaces.
    for path in parts.into_iter().rev() {
        if replaced.contains(name(&path).as_str()) {
            continue;
        }
        let (mut part, is_damaged) = match Part::salvage(&path) {
            Err(error) if is_damage(&error) => {
                damaged.push(path);
                continue;
            }
            salvaged => salvaged?,
        };
        replaced.extend(part.replaces.iter().cloned());
        if is_damaged {
            rewrite(store, host, &mut part).inspect_err(|_| PartWriter::abandon(store, host))?;
            damaged.push(path);
        }
    }
    Ok(damaged)
}

fn is_damage(error: &StoreError) -> bool {
    match error {
        StoreError::Damaged { .. } => true,
        StoreError::File { error, .. } => error.kind() == ErrorKind::NotFound,
        _ => false,
    }
}

/// Writes what can be read of a part into a new one.
fn rewrite(store: &Path, host: &str, part: &mut Part) -> Result<(), StoreError> {
    let scenarios: Vec<_> = part.scenarios().collect();
    let mut writer = PartWriter::create(store, host)?;
    for scenario in scenarios {
        writer.add(&part.rows(scenario)?)?;
        if let Some(text) = part.text(scenario)? {
            writer.add_text(&text)?;
        }
    }
    let mut replaces = part.replaces.clone();
    replaces.extend(Name::of(&part.path));
    writer.finish(&replaces)?;
    Ok(())
}

fn set_aside(path: &Path) -> Result<PathBuf, StoreError> {
    let aside = path.with_file_name(format!("{}.{ASIDE}", name(path)));
    fs::rename(path, &aside).map_err(StoreError::write(path))?;
    Ok(aside)
}
