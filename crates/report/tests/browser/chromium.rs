//! A headless Chromium, driven over its `DevTools` protocol: JSON messages with a zero byte after each, through a pipe.
//!
//! That needs no library and no port.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// The longest time to wait for a message; a browser that is silent for longer hangs.
const PATIENCE: Duration = Duration::from_secs(120);
/// The names under which it may be installed.
const NAMES: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];

/// A running browser.
pub(crate) struct Chromium {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    events: VecDeque<Value>,
    profile: PathBuf,
    calls: u64,
}

/// The window of a desktop, a telephone, or paper.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    width: u32,
    height: u32,
    is_telephone: bool,
    is_dark: bool,
    /// The medium in style sheets: `screen` or `print`.
    medium: &'static str,
}

impl Screen {
    pub(crate) const DESK: Self = Self {
        width: 1280,
        height: 900,
        is_telephone: false,
        is_dark: false,
        medium: "screen",
    };
    pub(crate) const TELEPHONE: Self = Self {
        width: 390,
        height: 844,
        is_telephone: true,
        is_dark: false,
        medium: "screen",
    };
    /// A4 without the margins of the style: 178 mm at 96 dots per inch.
    pub(crate) const PAPER: Self = Self {
        width: 672,
        height: 1000,
        is_telephone: false,
        is_dark: false,
        medium: "print",
    };

    /// Returns the same window in a system that is set to dark colours.
    pub(crate) fn at_night(self) -> Self {
        Self {
            is_dark: true,
            ..self
        }
    }
}

/// An open page.
pub(crate) struct Tab<'a> {
    browser: &'a mut Chromium,
    target: String,
    session: String,
    url: String,
}

/// What a page did besides being displayed.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// The URLs that it requested, except its own.
    pub(crate) requests: Vec<String>,
    /// Errors on the console, and failed scripts.
    pub(crate) complaints: Vec<String>,
}

impl Chromium {
    /// Starts the browser; `None` if it is not installed.
    pub(crate) fn start() -> Option<Self> {
        let path = std::env::var_os("PATH")?;
        let mut there =
            std::env::split_paths(&path).flat_map(|folder| NAMES.map(|name| folder.join(name)));
        let program = there.find(|path| path.is_file())?;
        let profile = std::env::temp_dir().join(format!(
            "fairwire-chromium-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        // Chromium reads file descriptor 3 and writes 4; the shell redirects them to our pipes. The sandbox does not
        // work for root, and our own pages need none.
        let script = "exec \"$0\" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage \
            --no-first-run --disable-extensions --disable-background-networking --disable-sync \
            --user-data-dir=\"$1\" --remote-debugging-pipe about:blank 3<&0 4>&1 </dev/null >/dev/null 2>&1";
        let mut child = Command::new("sh")
            .arg("-c")
            .arg(script)
            .arg(program)
            .arg(&profile)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let to = child.stdin.take().expect("piped");
        let mut out = BufReader::new(child.stdout.take().expect("piped"));
        let (tell, from) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while out
                .read_until(0, &mut message)
                .is_ok_and(|length| length > 0)
            {
                message.pop();
                let value = serde_json::from_slice(&message).unwrap_or(Value::Null);
                if tell.send(value).is_err() {
                    return;
                }
                message.clear();
            }
        });
        Some(Self {
            child,
            to,
            from,
            events: VecDeque::new(),
            profile,
            calls: 0,
        })
    }

    fn call(&mut self, session: Option<&str>, method: &str, parameters: &Value) -> Value {
        self.calls += 1;
        let mut message = json!({ "id": self.calls, "method": method, "params": parameters });
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = serde_json::to_vec(&message).expect("JSON");
        bytes.push(0);
        self.to.write_all(&bytes).expect("Chromium listens");
        loop {
            let answer = self.next();
            if answer["id"] == self.calls {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.events.push_back(answer);
        }
    }

    fn next(&mut self) -> Value {
        self.from
            .recv_timeout(PATIENCE)
            .expect("Chromium answers within two minutes")
    }

    /// Returns the number of pages on which the browser prints the file at `path`.
    pub(crate) fn printed_pages(&mut self, path: &Path) -> usize {
        let mut tab = self.open(Screen::DESK, path);
        let printed = tab.call("Page.printToPDF", &json!({ "preferCSSPageSize": true }));
        let pdf = printed["data"].as_str().expect("a PDF in base64");
        // The page decodes its own print.
        let pages = tab.evaluate(&format!(
            "atob('{pdf}').match(/\\/Type \\/Page\\n/g).length"
        ));
        tab.close();
        usize::try_from(pages.as_u64().expect("a number")).expect("few")
    }

    /// Opens the file at `path` and waits until it is loaded.
    pub(crate) fn open(&mut self, screen: Screen, path: &Path) -> Tab<'_> {
        let blank = json!({ "url": "about:blank" });
        let target = self.call(None, "Target.createTarget", &blank);
        let target = target["targetId"].as_str().expect("an id").to_owned();
        let attach = json!({ "targetId": target, "flatten": true });
        let session = self.call(None, "Target.attachToTarget", &attach);
        let session = session["sessionId"].as_str().expect("an id").to_owned();
        let url = format!("file://{}", path.display());
        let mut tab = Tab {
            browser: self,
            target,
            session,
            url: url.clone(),
        };
        for domain in ["Page", "Runtime", "Network", "Log"] {
            tab.call(&format!("{domain}.enable"), &json!({}));
        }
        let metrics = json!({
            "width": screen.width,
            "height": screen.height,
            "screenWidth": screen.width,
            "screenHeight": screen.height,
            "deviceScaleFactor": if screen.is_telephone { 3 } else { 1 },
            "mobile": screen.is_telephone,
        });
        tab.call("Emulation.setDeviceMetricsOverride", &metrics);
        tab.show(screen);
        tab.call("Page.navigate", &json!({ "url": url }));
        tab.wait_for("Page.loadEventFired");
        tab
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // It ends by itself when its pipe is closed, so `kill` may fail.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}

impl Tab<'_> {
    fn call(&mut self, method: &str, parameters: &Value) -> Value {
        let session = self.session.clone();
        self.browser.call(Some(&session), method, parameters)
    }

    fn wait_for(&mut self, method: &str) {
        let of_page =
            |event: &Value| event["method"] == method && event["sessionId"] == self.session;
        while !self.browser.events.iter().any(of_page) {
            let event = self.browser.next();
            self.browser.events.push_back(event);
        }
    }

    /// Sets the medium and the colours of `screen`.
    pub(crate) fn show(&mut self, screen: Screen) {
        let scheme = if screen.is_dark { "dark" } else { "light" };
        let media = json!({ "media": screen.medium, "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.call("Emulation.setEmulatedMedia", &media);
    }

    /// Evaluates `script` and returns its value.
    pub(crate) fn evaluate(&mut self, script: &str) -> Value {
        let asked = json!({ "expression": script, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", &asked);
        assert!(answer["exceptionDetails"].is_null(), "{answer}");
        answer["result"]["value"].clone()
    }

    /// Closes the page and returns what it did.
    pub(crate) fn close(mut self) -> Heard {
        let target = json!({ "targetId": self.target });
        // Events that were on their way have arrived once an answer has.
        self.evaluate("1");
        self.browser.call(None, "Target.closeTarget", &target);
        let mut heard = Heard::default();
        for event in std::mem::take(&mut self.browser.events) {
            if event["sessionId"] != self.session {
                continue;
            }
            let parameters = &event["params"];
            match event["method"].as_str() {
                Some("Network.requestWillBeSent") => {
                    let url = parameters["request"]["url"].as_str().unwrap_or_default();
                    if url != self.url && !url.starts_with("data:") {
                        heard.requests.push(url.to_owned());
                    }
                }
                Some("Runtime.exceptionThrown") => heard.complaints.push(parameters.to_string()),
                Some("Runtime.consoleAPICalled") if parameters["type"] == "error" => {
                    heard.complaints.push(parameters["args"].to_string());
                }
                Some("Log.entryAdded") if parameters["entry"]["level"] == "error" => {
                    heard.complaints.push(parameters["entry"].to_string());
                }
                _ => {}
            }
        }
        heard
    }
}
