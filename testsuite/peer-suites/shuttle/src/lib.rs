//! A stand-in for shuttle.
