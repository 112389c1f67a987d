//! The arguments that set what is printed, and what is written to files.

use crate::cli::explore::read;
use crate::config::RunSettings;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Files to write.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Report")]
pub struct FileArgs {
    /// Write a page for each test to this folder, for a browser
    #[arg(long = "report", value_name = "FOLDER", value_parser = read::<PathBuf>)]
    pub html: Option<PathBuf>,
    /// Also write the results of the tests to this file, in JUnit's format
    #[arg(long, value_name = "FILE", value_parser = read::<PathBuf>)]
    pub junit: Option<PathBuf>,
}

impl FileArgs {
    /// Copies the values given on the command line into the settings of a run.
    pub fn set(&self, settings: &mut RunSettings) {
        settings.report.command_line(self.html.clone());
        settings.junit.command_line(self.junit.clone());
    }
}

/// The format of the output.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Report")]
pub struct ReportArgs {
    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = MessageFormat::Human)]
    pub message_format: MessageFormat,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum MessageFormat {
    /// Text for people
    #[default]
    Human,
    /// A line of JSON for each event, for programs
    Json,
    /// Text for people, with annotations that GitHub finds in the log of a workflow
    Github,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Color {
    pub fn name(self) -> &'static str {
        match self {
            Color::Auto => "auto",
            Color::Always => "always",
            Color::Never => "never",
        }
    }
}

/// Options for viewing what is written.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Report")]
pub struct OpenArgs {
    /// Open the pages of --report in a browser; without it they are written to `dpor/report` in the target folder
    #[arg(long)]
    pub open: bool,
}
