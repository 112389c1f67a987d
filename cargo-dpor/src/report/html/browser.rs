//! Opens a page in a browser.

use owo_colors::OwoColorize;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

/// Environment variables that show that there is a screen. On Windows' subsystem for Linux there is one without the
/// others.
const SCREENS: [&str; 3] = ["DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"];

/// Opens a page with the program that `BROWSER` names, or else with the desktop's own. If nothing can be opened, this
/// is reported, and does not change the exit code: the page exists.
pub fn show(page: &Path) {
    let page = std::path::absolute(page).unwrap_or_else(|_| page.into());
    let browser = std::env::var_os("BROWSER").filter(|browser| !browser.is_empty());
    if let Err(why) = open(&page, browser) {
        let warning = "warning:".yellow().bold().to_string();
        anstream::eprintln!(
            "{warning} cannot open a browser: {why}\n  the report is {}",
            page.display()
        );
    }
}

fn open(page: &Path, browser: Option<OsString>) -> Result<(), String> {
    match browser {
        Some(browser) => {
            let mut command = Command::new(&browser);
            command
                .arg(page)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            // It may stay open for longer than this process.
            let started = command.spawn().map(drop);
            started.map_err(|error| format!("{} (`BROWSER`): {error}", browser.display()))
        }
        None if !SCREENS
            .iter()
            .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty())) =>
        {
            Err("there is no screen (no `DISPLAY`, no `WAYLAND_DISPLAY`), and `BROWSER` names no program".into())
        }
        None => open::that_detached(page).map_err(|error| error.to_string()),
    }
}
