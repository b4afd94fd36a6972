//! Files: the sender reads and hashes them, the receiver writes each piece at its offset.

use std::fs::{File, Metadata};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use super::PerfError;
use super::ranges::{Missing, Ranges};

/// A file that is being sent.
#[derive(Debug)]
pub(crate) struct Source {
    path: PathBuf,
    reader: BufReader<File>,
    sum: Sha256,
    /// The size when the file was opened, bytes.
    pub size: u64,
    /// The offset of the next piece.
    pub offset: u64,
    /// The bytes that were handed over to the flow.
    pub sent: u64,
}

impl Source {
    pub(crate) fn open(path: &Path) -> Result<Self, PerfError> {
        let failed = |error: io::Error| local("read", path, &error);
        // Before it is opened: opening a named pipe waits for a writer.
        let meta = std::fs::metadata(path).map_err(failed)?;
        if meta.is_file() {
            let file = File::open(path).map_err(failed)?;
            return Self::of(file, path).map_err(failed);
        }
        let text = format!("-F {}: it is not a regular file", path.display());
        Err(PerfError::Local(text))
    }

    fn of(file: File, path: &Path) -> io::Result<Self> {
        let size = file.metadata()?.len();
        Ok(Self {
            path: path.to_owned(),
            reader: BufReader::with_capacity(1 << 18, file),
            sum: Sha256::new(),
            size,
            offset: 0,
            sent: 0,
        })
    }

    /// Returns whether all of the file was handed over to the flow.
    pub(crate) fn is_sent(&self) -> bool {
        self.sent == self.size
    }

    /// Appends the next bytes of the file to `out`, at most `most`, and returns how many; zero at the end.
    pub(crate) fn read(&mut self, most: usize, out: &mut impl io::Write) -> Result<u64, PerfError> {
        let left = self.size - self.offset;
        let most = left.min(most as u64);
        let mut summed = Tee {
            sum: &mut self.sum,
            out,
        };
        let read = io::copy(&mut (&mut self.reader).take(most), &mut summed)
            .map_err(|error| local("read", &self.path, &error))?;
        if read < most {
            let text = format!("{} became shorter while it was sent", self.path.display());
            return Err(PerfError::Local(text));
        }
        self.offset += read;
        Ok(read)
    }

    /// Returns the SHA-256 of the whole file, including parts that were not sent.
    pub(crate) fn sha256(mut self) -> Result<String, PerfError> {
        while self.read(1 << 18, &mut io::sink())? > 0 {}
        Ok(hex(&self.sum.finalize()))
    }
}

struct Tee<'a, W> {
    sum: &'a mut Sha256,
    out: &'a mut W,
}

impl<W: io::Write> io::Write for Tee<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The number of bytes that are written together when pieces follow each other: a system call for each would cost more
/// than receiving it.
const WRITE: usize = 1 << 17;

/// The received parts of a file, written to disk if the user wants it.
#[derive(Debug)]
pub(crate) struct Sink {
    saved: Option<Saving>,
    /// Bytes that belong at `pending_at` and are not yet written.
    pending: Vec<u8>,
    pending_at: u64,
    ranges: Ranges,
    size: u64,
}

/// A file that is being written. What stands at its path stays there until it is complete, for it may be the very file
/// that is sent.
#[derive(Debug)]
struct Saving {
    /// The path as it was given.
    name: PathBuf,
    /// The path behind links: the file that a link leads to is replaced, not the link.
    path: PathBuf,
    file: Target,
}

#[derive(Debug)]
enum Target {
    /// A new file in the same folder, which gets the path in the end.
    Beside(NamedTempFile),
    /// A device, which cannot be replaced.
    Device(File),
}

impl Saving {
    fn open(name: &Path) -> io::Result<Self> {
        let path = std::fs::canonicalize(name).unwrap_or_else(|_| name.to_owned());
        let old = std::fs::metadata(&path).ok();
        let file = match old {
            Some(meta) if !meta.is_file() => {
                let device = File::options().read(true).write(true).open(&path)?;
                Target::Device(device)
            }
            old => Target::Beside(beside(&path, old.as_ref())?),
        };
        Ok(Self {
            name: name.to_owned(),
            path,
            file,
        })
    }

    fn file(&self) -> &File {
        match &self.file {
            Target::Beside(file) => file.as_file(),
            Target::Device(file) => file,
        }
    }

    /// Gives the file its path.
    fn keep(self) -> io::Result<File> {
        match self.file {
            Target::Beside(file) => Ok(file.persist(&self.path)?),
            Target::Device(file) => Ok(file),
        }
    }
}

/// Makes a file in the folder of `path`, with the rights of the `old` one, or else those of any new file.
fn beside(path: &Path, old: Option<&Metadata>) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    builder.prefix(".fairwire-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let file = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
    if let Some(old) = old {
        file.as_file().set_permissions(old.permissions())?;
    }
    Ok(file)
}

/// A file that was written.
#[derive(Debug)]
pub(crate) struct Saved {
    /// The path of the file.
    pub path: String,
    /// The SHA-256 of the written file, with zeros for missing parts; `None` if more than half is missing.
    pub sha256: Option<String>,
}

impl Sink {
    /// Checks that a file can be saved at `path`, before a client sends one. An existing file is not changed.
    pub(crate) fn check(path: &Path) -> Result<(), PerfError> {
        let refuse = |why: &str| {
            let path = path.display();
            Err(PerfError::Local(format!("cannot save to {path}: {why}")))
        };
        if path.is_dir() {
            return refuse("it is a directory: name a file in it");
        }
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
        if let Some(parent) = parent.filter(|parent| !parent.is_dir()) {
            if parent.exists() {
                return refuse(&format!("{} is not a directory", parent.display()));
            }
            return refuse(&crate::no_directory(parent));
        }
        if is_pipe(path) {
            return refuse("it is a pipe, and parts of a file arrive in any order: name a file");
        }
        let mut options = File::options();
        options.read(true).write(true);
        let opened = match options.clone().create_new(true).open(path) {
            Ok(_) => std::fs::remove_file(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                options.open(path).map(drop)
            }
            Err(error) => Err(error),
        };
        opened.or_else(|error| refuse(&error.to_string()))
    }

    /// Makes the sink for a file of `size` bytes. A file at `path` is replaced in the end.
    pub(crate) fn new(size: u64, path: Option<&Path>) -> Result<Self, PerfError> {
        let saved = path.map(|path| {
            let saving = Saving::open(path);
            saving.map_err(|error| local("write", path, &error))
        });
        let saved = saved.transpose()?;
        Ok(Self {
            saved,
            pending: Vec::new(),
            pending_at: 0,
            ranges: Ranges::default(),
            size,
        })
    }

    /// Stores a piece that arrived.
    pub(crate) fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), PerfError> {
        // A piece beyond the end is invalid.
        let end = offset.saturating_add(data.len() as u64);
        if end > self.size {
            return Ok(());
        }
        if !self.ranges.insert(offset, end) {
            return Ok(());
        }
        if self.saved.is_none() {
            return Ok(());
        }
        if self.pending_at + self.pending.len() as u64 != offset || self.pending.len() >= WRITE {
            self.flush()?;
            self.pending_at = offset;
        }
        self.pending.extend_from_slice(data);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), PerfError> {
        if let Some(saving) = &self.saved {
            let written = write_at(saving.file(), &self.pending, self.pending_at);
            written.map_err(|error| local("write", &saving.name, &error))?;
        }
        self.pending.clear();
        Ok(())
    }

    /// Returns whether the file is saved, and not only checked for missing parts.
    pub(crate) fn saves(&self) -> bool {
        self.saved.is_some()
    }

    pub(crate) fn missing(&self, limit: usize) -> Missing {
        self.ranges.missing(self.size, limit)
    }

    /// Writes the rest. Returns where the file was saved, and its SHA-256, which takes as long as reading the file.
    ///
    /// The peer states the size, so the work must depend on what it sent. If more than half of the file is missing, the
    /// file is neither extended to its size nor hashed.
    pub(crate) fn finish(&mut self) -> Result<Option<Saved>, PerfError> {
        self.flush()?;
        let Some(saving) = self.saved.take() else {
            return Ok(None);
        };
        let path = saving.name.clone();
        let name = path.display().to_string();
        let file = saving.keep();
        let file = file.map_err(|error| local("write", &path, &error))?;
        if self.missing(0).bytes > self.size / 2 {
            return Ok(Some(Saved {
                path: name,
                sha256: None,
            }));
        }
        // Missing parts stay zero. The length of a device cannot be set.
        let _ = file.set_len(self.size);
        let failed = |error: io::Error| local("read", &path, &error);
        let mut reader = BufReader::with_capacity(1 << 18, file);
        io::Seek::rewind(&mut reader).map_err(failed)?;
        let mut sum = Sha256::new();
        let mut tee = Tee {
            sum: &mut sum,
            out: &mut io::sink(),
        };
        io::copy(&mut reader.take(self.size), &mut tee).map_err(failed)?;
        Ok(Some(Saved {
            path: name,
            sha256: Some(hex(&sum.finalize())),
        }))
    }
}

/// Returns whether `path` is a named pipe, which waits for its other end.
fn is_pipe(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        std::fs::metadata(path).is_ok_and(|meta| meta.file_type().is_fifo())
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

#[cfg(unix)]
fn write_at(file: &File, data: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, data, offset)
}

#[cfg(not(unix))]
fn write_at(mut file: &File, data: &[u8], offset: u64) -> io::Result<()> {
    use std::io::{Seek, SeekFrom, Write};
    file.seek(SeekFrom::Start(offset))?;
    file.write_all(data)
}

fn local(what: &str, path: &Path, error: &io::Error) -> PerfError {
    let advice = match error.kind() {
        io::ErrorKind::StorageFull => ": make room, or save elsewhere",
        _ => "",
    };
    PerfError::Local(format!("cannot {what} {}: {error}{advice}", path.display()))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::{Sink, Source};

    /// Pieces written in any order give the same file and the same hash. If one is missing, it is listed and the hashes
    /// differ.
    #[test]
    fn pieces_make_the_file() {
        let dir = std::env::temp_dir().join(format!("fairwire-file-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a directory");
        let (from, to) = (dir.join("from"), dir.join("to"));
        let data: Vec<u8> = (0..1_000_u16).map(|i| (i % 251) as u8).collect();
        std::fs::write(&from, &data).expect("written");
        for skip in [None, Some(3)] {
            let mut source = Source::open(&from).expect("opened");
            let mut pieces = Vec::new();
            loop {
                let (offset, mut piece) = (source.offset, Vec::new());
                if source.read(300, &mut piece).expect("read") == 0 {
                    break;
                }
                pieces.push((offset, piece));
            }
            let sent = source.sha256().expect("summed");
            let mut sink = Sink::new(1_000, Some(&to)).expect("created");
            for (i, (offset, piece)) in pieces.iter().enumerate().rev() {
                if Some(i) != skip {
                    sink.write(*offset, piece).expect("saved");
                }
            }
            sink.write(990, &[0; 20]).expect("a liar is ignored");
            let missing = sink.missing(5);
            let saved = sink.finish().expect("summed").expect("saved");
            let whole = skip.is_none();
            assert_eq!(missing.first.is_empty(), whole, "{missing:?}");
            assert_eq!(Some(sent) == saved.sha256, whole);
            assert_eq!(std::fs::read(&to).expect("read") == data, whole);
        }
        std::fs::remove_dir_all(&dir).expect("removed");
    }

    /// A sender that announces an enormous file and sends little of it causes little work: the file has the length of
    /// what arrived, and it is not hashed.
    #[test]
    fn an_announced_size_costs_nothing() {
        let dir = std::env::temp_dir().join(format!("fairwire-huge-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a directory");
        let to = dir.join("to");
        let mut sink = Sink::new(1 << 42, Some(&to)).expect("created");
        sink.write(0, &[7; 1_000]).expect("saved");
        let saved = sink.finish().expect("written").expect("saved");
        assert_eq!(saved.sha256, None);
        assert_eq!(std::fs::metadata(&to).expect("a file").len(), 1_000);
        std::fs::remove_dir_all(&dir).expect("removed");
    }

    /// A file is replaced when its transfer is over, and not before: it may be the one that is sent. A transfer that is
    /// given up leaves it alone, and leaves nothing beside it.
    #[test]
    fn a_file_is_replaced_in_the_end() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("x");
        std::fs::write(&path, "what it was").expect("written");
        let mut source = Source::open(&path).expect("opened");
        let given_up = Sink::new(3, Some(&path)).expect("created");
        let mut sink = Sink::new(11, Some(&path)).expect("created");
        let mut piece = Vec::new();
        source.read(100, &mut piece).expect("nothing is cut off");
        assert_eq!(piece, b"what it was");
        sink.write(0, b"what it is.").expect("saved");
        assert_eq!(std::fs::read(&path).expect("read"), b"what it was");
        sink.finish().expect("written");
        drop(given_up);
        assert_eq!(std::fs::read(&path).expect("read"), b"what it is.");
        let files = std::fs::read_dir(dir.path()).expect("listed").count();
        assert_eq!(files, 1);
    }

    /// A named pipe is refused at once, at both ends; opening it would wait for ever.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_pipe_is_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("mkfifo").success());
        let error = Source::open(&path).expect_err("no file").to_string();
        assert!(error.contains("not a regular file"), "{error}");
        let error = Sink::check(&path).expect_err("no file").to_string();
        assert!(error.contains("is a pipe"), "{error}");
    }

    /// A path where nothing can be saved is found at once; the check neither creates nor empties a file.
    #[test]
    fn a_place_is_checked() {
        let dir = std::env::temp_dir().join(format!("fairwire-place-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a directory");
        let (old, new) = (dir.join("old"), dir.join("new"));
        std::fs::write(&old, "kept").expect("written");
        for good in [&old, &new] {
            assert_eq!(Sink::check(good), Ok(()));
        }
        assert!(!new.exists());
        assert_eq!(std::fs::read(&old).expect("read"), b"kept");
        let none = dir.join("none/x");
        for bad in [dir.clone(), old.join("x"), old.join("x/y"), none] {
            let text = Sink::check(&bad).expect_err("no place").to_string();
            assert!(text.contains("directory"), "{text}");
        }
        assert!(!dir.join("none").exists());
        std::fs::remove_dir_all(&dir).expect("removed");
    }
}
