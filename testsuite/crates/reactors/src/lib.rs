//! Runtimes that wait for input, output and timers, by `epoll`.
