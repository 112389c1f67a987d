//! A headless Chromium with one page, driven over its debugging pipe (the Chrome DevTools Protocol): keys are pressed
//! as by a user, and what the page complains about and asks the network for is noted.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Names under which Chromium is installed.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Maximum time for an answer, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running browser.
pub struct Browser {
    process: Child,
    orders: ChildStdin,
    answers: Receiver<Value>,
    session: Option<String>,
    last: u64,
    events: Vec<Value>,
}

/// The path of Chromium: from `CHROMIUM`, or from the search path.
pub fn find() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("CHROMIUM") {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    let mut folders = std::env::split_paths(&path);
    folders.find_map(|folder| NAMES.iter().map(|name| folder.join(name)).find(|file| file.is_file()))
}

impl Browser {
    /// Starts the browser, which keeps what it writes in this folder.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start(program: &std::path::Path, profile: &std::path::Path) -> Browser {
        // It takes orders from descriptor 3 and answers on descriptor 4.
        let mut process = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null"])
            .arg(program)
            .arg(format!("--user-data-dir={}", profile.display()))
            .args([
                "--headless",
                "--remote-debugging-pipe",
                "--disable-gpu",
                "--no-first-run",
            ])
            // Root, as in a container, cannot have the sandbox, and the pages are our own.
            .args([
                "--no-sandbox",
                "--disable-dev-shm-usage",
                "--disable-background-networking",
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("sh can be started");
        let orders = process.stdin.take().expect("it has one");
        let mut pipe = BufReader::new(process.stdout.take().expect("it has one"));
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            let mut text = Vec::new();
            while pipe.read_until(0, &mut text).is_ok_and(|read| read > 0) {
                let answer = text.strip_suffix(&[0]).unwrap_or(&text);
                let answer = serde_json::from_slice(answer).expect("the browser answers in JSON");
                if sender.send(answer).is_err() {
                    break;
                }
                text.clear();
            }
        });
        let mut browser = Browser {
            process,
            orders,
            answers,
            session: None,
            last: 0,
            events: Vec::new(),
        };
        let page = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attached = json!({ "targetId": page["targetId"], "flatten": true });
        let session = browser.call("Target.attachToTarget", attached);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Gives an order and returns the answer.
    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut order = json!({ "id": self.last, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            order["sessionId"] = session.as_str().into();
        }
        let written = write!(self.orders, "{order}\0").and_then(|()| self.orders.flush());
        written.unwrap_or_else(|error| panic!("{method}: {error}: does the browser run?"));
        loop {
            let answer = self.next();
            if answer["id"] == self.last {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    fn next(&mut self) -> Value {
        self.answers.recv_timeout(PATIENCE).expect("the browser answers")
    }

    fn events(&self, method: &str) -> impl Iterator<Item = &Value> {
        self.events.iter().filter(move |event| event["method"] == method)
    }

    /// Opens a page, and forgets the notes on others.
    ///
    /// # Panics
    /// If the page does not load.
    pub fn open(&mut self, address: &str) {
        self.events.clear();
        self.call("Page.navigate", json!({ "url": address }));
        while self.events("Page.loadEventFired").next().is_none() {
            let event = self.next();
            self.events.push(event);
        }
    }

    /// Lets the user prefer dark, or light.
    pub fn prefer(&mut self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    /// Gives the window this size, in pixels of CSS.
    pub fn resize(&mut self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// Presses keys, one after the other: a letter, or the name of a key.
    pub fn press(&mut self, keys: &[&str]) {
        for &key in keys {
            let code = match key {
                "Tab" => 9,
                "Enter" => 13,
                "Escape" => 27,
                "End" => 35,
                "Home" => 36,
                "ArrowLeft" => 37,
                "ArrowUp" => 38,
                "ArrowRight" => 39,
                "ArrowDown" => 40,
                letter => letter.to_ascii_uppercase().as_bytes()[0],
            };
            let text = match key {
                "Enter" => Some("\r"),
                _ => (key.len() == 1).then_some(key),
            };
            for kind in ["keyDown", "keyUp"] {
                let mut event = json!({ "type": kind, "key": key, "windowsVirtualKeyCode": code });
                if let Some(text) = text.filter(|_| kind == "keyDown") {
                    event["text"] = text.into();
                }
                self.call("Input.dispatchKeyEvent", event);
            }
        }
    }

    /// The value of an expression in the page.
    ///
    /// # Panics
    /// If it throws.
    pub fn value(&mut self, expression: &str) -> Value {
        let result = self.call(
            "Runtime.evaluate",
            json!({ "expression": expression, "returnByValue": true }),
        );
        assert!(result.get("exceptionDetails").is_none(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// The same, of one that is a text.
    ///
    /// # Panics
    /// If it throws, or is none.
    pub fn text(&mut self, expression: &str) -> String {
        let value = self.value(expression);
        let text = value.as_str();
        text.unwrap_or_else(|| panic!("{expression} is {value}")).to_owned()
    }

    /// The complaints of the page since it was opened: exceptions, messages on the console, and those of the browser
    /// itself.
    pub fn complaints(&self) -> Vec<String> {
        let methods = ["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"];
        let events = methods.into_iter().flat_map(|method| self.events(method));
        events.map(|event| event["params"].to_string()).collect()
    }

    /// The addresses that were asked for since the page was opened, its own first.
    pub fn requests(&self) -> Vec<String> {
        let requests = self.events("Network.requestWillBeSent");
        let address = |event: &Value| event["params"]["request"]["url"].as_str().map(str::to_owned);
        requests.filter_map(address).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It ends by itself when it is told to, or else when nobody is there to give orders; if it has ended already,
        // all is well.
        let _ = write!(self.orders, "{}\0", json!({ "id": 0, "method": "Browser.close" }));
        let _ = self.orders.flush();
        for _ in 0..200 {
            if !matches!(self.process.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
