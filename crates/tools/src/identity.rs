//! Identities for DTLS as files: a private key and a certificate.
//!
//! `ID.key` holds the key, which only its owner may read. `ID.crt` holds the certificate, which peers may see.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub use fairwire::tls::{Date, Fingerprint, Identity, IdentityError, Validity};

/// Why an identity could not be made, written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityFileError {
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A path does not end with the name of an identity.
    #[error(
        "'{path}' does not end with the name of an identity: add one, as in {}",
        .path.join("id").display()
    )]
    NoName {
        /// The path.
        path: PathBuf,
    },
    /// The name of an identity to make ends like the name of one of its files.
    #[error("an identity is named without .key or .crt, which are added: write {stem}")]
    Extension {
        /// The name without its ending.
        stem: PathBuf,
    },
    /// The directory to write to does not exist.
    #[error("{}", crate::no_directory(.path))]
    NoDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// A file is not a text.
    #[error(
        "{path} is not a text: keys and certificates are read as PEM ('openssl x509 -inform DER -in FILE' converts a \
         certificate, 'openssl pkey -inform DER -in FILE' a key)"
    )]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// There is no such identity.
    #[error(
        "{path} does not exist: make an identity with 'fairwire keygen --out ID' and name it without .key or .crt"
    )]
    Missing {
        /// The file that was looked for.
        path: PathBuf,
    },
    /// One of the two files of an identity is missing.
    #[error("{path} does not exist, and {other} does: an identity needs both files")]
    Half {
        /// The file that is missing.
        path: PathBuf,
        /// The file that is there.
        other: PathBuf,
    },
    /// The file to write is there already.
    #[error(
        "{path} exists: choose another name, or remove it first (peers that trust it will not trust a \
         new one)"
    )]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Other users of this host may read the key, so it may not be secret any more.
    #[error(
        "others may read the private key {path} (mode {mode:03o}): make a new one if they might have, else run \
         'chmod 600 {path}'"
    )]
    NotPrivate {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// A key or a certificate is not usable.
    #[error("{path}: {source}")]
    Identity {
        /// Where the key and the certificate are.
        path: PathBuf,
        /// What is wrong.
        source: IdentityError,
    },
}

/// Makes an identity with a self-signed certificate for `names` and writes `ID.key` and `ID.crt`. Nothing is
/// overwritten. Returns the fingerprint of the certificate.
///
/// # Errors
/// See [`IdentityFileError`]. No file is left behind then.
pub fn generate(
    id: &Path,
    names: &[String],
    validity: Validity,
) -> Result<Fingerprint, IdentityFileError> {
    check_name(id)?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let made = Identity::generate(&names, validity);
    let identity = made.map_err(|source| of_identity(id, source))?;
    let (key, certificate) = files(id);
    let is_there = |path: &&PathBuf| matches!(path.try_exists(), Ok(true));
    if let Some(path) = [&key, &certificate].into_iter().find(is_there) {
        return Err(IdentityFileError::Exists { path: path.clone() });
    }
    write_new(&key, identity.key_to_pem().as_bytes(), true)?;
    write_new(
        &certificate,
        identity.certificate_to_pem().as_bytes(),
        false,
    )
    .inspect_err(|_| {
        // A key without its certificate is of no use.
        let _ = fs::remove_file(&key);
    })?;
    Ok(identity.fingerprint())
}

/// Returns the time from now, less a day for clocks that differ, until `days` from now.
#[expect(
    clippy::disallowed_methods,
    reason = "the validity of a certificate begins at the date of the day"
)]
pub fn valid_for(days: u32) -> Validity {
    let now = Date::from(SystemTime::now());
    let yesterday = now.as_unix_seconds().saturating_sub(24 * 60 * 60);
    Validity {
        from: Date::from_unix_seconds(yesterday),
        until: Validity::days(now, days).until,
    }
}

/// Reads the identity in `ID.key` and `ID.crt`.
///
/// # Errors
/// See [`IdentityFileError`].
pub fn load(id: &Path) -> Result<Identity, IdentityFileError> {
    check_name(id)?;
    let (key_file, certificate_file) = files(id);
    // A file that may not be looked at is not missing.
    let is_missing = |path: &Path| matches!(path.try_exists(), Ok(false));
    let half = |path, other| Err(IdentityFileError::Half { path, other });
    match (is_missing(&key_file), is_missing(&certificate_file)) {
        (true, true) => return Err(IdentityFileError::Missing { path: key_file }),
        (true, false) => return half(key_file, certificate_file),
        (false, true) => return half(certificate_file, key_file),
        (false, false) => {}
    }
    check_private(&key_file)?;
    let key = zeroize::Zeroizing::new(read(&key_file)?);
    let certificate = read(&certificate_file)?;
    Identity::from_pem(&certificate, &key).map_err(|source| {
        let path = if source.is_about_key() {
            &key_file
        } else {
            &certificate_file
        };
        of_identity(path, source)
    })
}

/// Reads a file of certificates.
///
/// # Errors
/// See [`IdentityFileError`].
pub fn read(path: &Path) -> Result<String, IdentityFileError> {
    fs::read_to_string(path).map_err(|source| match source.kind() {
        io::ErrorKind::InvalidData => IdentityFileError::NotText {
            path: path.to_owned(),
        },
        _ => IdentityFileError::Io {
            path: path.to_owned(),
            source,
        },
    })
}

/// Returns the files of an identity: `ID.key` and `ID.crt`.
pub fn files(id: &Path) -> (PathBuf, PathBuf) {
    (beside(id, ".key"), beside(id, ".crt"))
}

/// Refuses a name whose files would have surprising names.
fn check_name(id: &Path) -> Result<(), IdentityFileError> {
    let text = id.as_os_str().to_string_lossy();
    if id.file_name().is_none() || text.ends_with(std::path::is_separator) {
        return Err(IdentityFileError::NoName {
            path: id.to_owned(),
        });
    }
    if id.extension().is_some_and(|it| it == "key" || it == "crt") {
        return Err(IdentityFileError::Extension {
            stem: id.with_extension(""),
        });
    }
    Ok(())
}

fn of_identity(id: &Path, source: IdentityError) -> IdentityFileError {
    IdentityFileError::Identity {
        path: id.to_owned(),
        source,
    }
}

fn beside(id: &Path, extension: &str) -> PathBuf {
    let mut name = OsString::from(id);
    name.push(extension);
    PathBuf::from(name)
}

fn write_new(path: &Path, bytes: &[u8], is_private: bool) -> Result<(), IdentityFileError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if is_private {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    #[cfg(not(unix))]
    let _ = is_private;
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::AlreadyExists => IdentityFileError::Exists {
            path: path.to_owned(),
        },
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => IdentityFileError::NoDirectory {
            path: path.parent().unwrap_or(path).to_owned(),
        },
        _ => IdentityFileError::Io {
            path: path.to_owned(),
            source,
        },
    };
    let mut file = options.open(path).map_err(failed)?;
    file.write_all(bytes).map_err(|source| {
        let _ = fs::remove_file(path);
        failed(source)
    })
}

#[cfg(unix)]
fn check_private(path: &Path) -> Result<(), IdentityFileError> {
    use std::os::unix::fs::PermissionsExt;
    let found = fs::metadata(path).map_err(|source| IdentityFileError::Io {
        path: path.to_owned(),
        source,
    })?;
    let mode = found.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(IdentityFileError::NotPrivate {
            path: path.to_owned(),
            mode,
        });
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_private(_: &Path) -> Result<(), IdentityFileError> {
    Ok(())
}
