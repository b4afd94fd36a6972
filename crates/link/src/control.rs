//! The socket by which a link that runs is changed and asked: `fairwire link set NAME WORDS`.
//!
//! It lies in a folder that only its user may enter, and goes with the link.

#[cfg(unix)]
pub(crate) use unix::Control;
#[cfg(unix)]
pub use unix::ask;

#[cfg(not(unix))]
pub(crate) use elsewhere::Control;
#[cfg(not(unix))]
pub use elsewhere::ask;

#[cfg(unix)]
mod unix {
    use std::fs::{self, DirBuilder};
    use std::io::{self, Read, Write};
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};
    use std::os::unix::net::UnixStream;
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    use mio::net::UnixListener;

    /// How long a command may take to be written, and an answer to be read.
    const PATIENCE: Duration = Duration::from_millis(200);
    /// The longest command, bytes.
    const LONGEST: usize = 4_096;
    const MOST_LETTERS: usize = 64;

    /// The place of a link's socket, which is removed with it.
    #[derive(Debug)]
    pub(crate) struct Control {
        listener: UnixListener,
        path: PathBuf,
    }

    /// A command, whose sender waits for the answer.
    #[derive(Debug)]
    pub(crate) struct Command {
        text: String,
        stream: UnixStream,
    }

    impl Command {
        /// Returns what is to be done.
        pub(crate) fn text(&self) -> &str {
            &self.text
        }

        /// Answers. Whoever does not wait for it does not get it.
        pub(crate) fn answer(mut self, text: &str) {
            let _ = writeln!(self.stream, "{text}");
        }
    }

    /// Returns the folder of the sockets: of this user, and nobody else's to enter.
    fn folder() -> Result<PathBuf, String> {
        let user = rustix::process::geteuid().as_raw();
        let folder = match std::env::var_os("XDG_RUNTIME_DIR") {
            Some(folder) if Path::new(&folder).is_dir() => PathBuf::from(folder).join("fairwire"),
            _ => std::env::temp_dir().join(format!("fairwire-{user}")),
        };
        let failed = |error: io::Error| format!("{} cannot be made: {error}", folder.display());
        match DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(error)),
        }
        let found = fs::symlink_metadata(&folder).map_err(failed)?;
        if !found.is_dir() || found.uid() != user || found.mode() & 0o077 != 0 {
            return Err(format!(
                "{} is not a folder that only you may enter: remove it",
                folder.display()
            ));
        }
        Ok(folder)
    }

    fn path_of(name: &str) -> Result<PathBuf, String> {
        let is_fine = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || name.len() > MOST_LETTERS || !name.chars().all(is_fine) {
            return Err(format!(
                "'{name}' is not a name: write 1 to {MOST_LETTERS} letters, digits, '-' or '_'"
            ));
        }
        Ok(folder()?.join(format!("{name}.link")))
    }

    impl Control {
        /// Makes the socket of the link called `name`.
        pub(crate) fn open(name: &str) -> Result<Option<Self>, String> {
            let path = path_of(name)?;
            if UnixStream::connect(&path).is_ok() {
                return Err(format!(
                    "a link called '{name}' runs: give this one another --name"
                ));
            }
            // What a link that was killed has left.
            let _ = fs::remove_file(&path);
            let listener = UnixListener::bind(&path)
                .map_err(|error| format!("{} cannot be made: {error}", path.display()))?;
            Ok(Some(Self { listener, path }))
        }

        /// Returns the socket, to wait for it.
        pub(crate) fn listener(&mut self) -> &mut UnixListener {
            &mut self.listener
        }

        /// Returns the next command, or none if nobody asks now.
        ///
        /// Whoever cannot be heard, because no descriptor is left for it, asks in vain: datagrams go on.
        pub(crate) fn next(&self) -> Option<Command> {
            loop {
                let (stream, _) = self.listener.accept().ok()?;
                let stream = UnixStream::from(stream);
                // A command that does not come, or is too long, is nobody's.
                if let Ok(text) = read(&stream) {
                    return Some(Command { text, stream });
                }
            }
        }
    }

    impl Drop for Control {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.path);
        }
    }

    fn read(stream: &UnixStream) -> io::Result<String> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        // It was written in one piece. Who writes slowly does not hold up the link.
        let mut bytes = [0; LONGEST];
        let len = (&*stream).read(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes[..len]);
        match text.split_once('\n') {
            Some((line, _)) => Ok(line.trim().to_owned()),
            None => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// Sends a command to the link called `name`, and returns its answer.
    ///
    /// # Errors
    /// A message that says what is wrong.
    pub fn ask(name: &str, command: &str) -> Result<String, String> {
        let path = path_of(name)?;
        let asked = || -> io::Result<String> {
            let mut stream = UnixStream::connect(&path)?;
            stream.set_read_timeout(Some(Duration::from_secs(5)))?;
            stream.write_all(format!("{command}\n").as_bytes())?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer.trim_end().to_owned())
        };
        asked().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                format!("no link called '{name}' runs{}", others(&path))
            }
            _ => format!("the link '{name}' does not answer: {error}"),
        })
    }

    /// Names the links that run.
    fn others(path: &Path) -> String {
        let folder = path.parent().and_then(|folder| fs::read_dir(folder).ok());
        let mut names: Vec<String> = folder
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| UnixStream::connect(path).is_ok())
            .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
            .collect();
        names.sort();
        match names.as_slice() {
            [] => String::new(),
            names => format!("; there are {}", names.join(", ")),
        }
    }
}

#[cfg(not(unix))]
mod elsewhere {
    /// Without Unix sockets no link is changed while it runs.
    #[derive(Debug)]
    pub(crate) enum Control {}

    /// A command that nobody can send.
    #[derive(Debug)]
    pub(crate) enum Command {}

    impl Command {
        pub(crate) fn text(&self) -> &str {
            match *self {}
        }

        pub(crate) fn answer(self, _text: &str) {
            match self {}
        }
    }

    impl Control {
        #[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
        pub(crate) fn open(_name: &str) -> Result<Option<Self>, String> {
            Ok(None)
        }

        pub(crate) fn listener(&mut self) -> &mut mio::net::UdpSocket {
            match *self {}
        }

        pub(crate) fn next(&self) -> Option<Command> {
            match *self {}
        }
    }

    /// Asks a link that runs.
    ///
    /// # Errors
    /// Always.
    pub fn ask(_name: &str, _command: &str) -> Result<String, String> {
        Err("links are changed while they run on Unix only; write the changes as --at".to_owned())
    }
}
