//! CPU time from `/proc`: of a process and everything it started in clock ticks, of one process in nanoseconds.

use std::{collections::BTreeMap, fs, process::Command, time::Duration};

use anyhow::{Context, Result, ensure};

/// CPU time spent so far, user and system, in clock ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticks(u64);

/// Reads the CPU time of one process tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Meter {
    root: u32,
    ticks_per_second: u32,
}

/// CPU time of one process from a moment on, fine enough for slices of a second: the kernel's own count per
/// thread, of which the ticks are a rounding. Threads that end meanwhile do not count; our servers keep theirs.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    whose: Whose,
    /// Nanoseconds by thread.
    from: BTreeMap<u32, u64>,
}

/// Whose time a stopwatch shows.
#[derive(Debug)]
enum Whose {
    /// That of one process.
    One(u32),
    /// That of some and of all they started.
    Trees(Vec<u32>),
}

/// The fields of one `/proc/<pid>/stat` that count here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    parent: u32,
    ticks: u64,
}

impl Meter {
    /// A meter for the tree below and including this process.
    ///
    /// # Errors
    /// When `getconf CLK_TCK` gives no number.
    pub(crate) fn of(process: u32) -> Result<Self> {
        let output = Command::new("getconf").arg("CLK_TCK").output().context("cannot start getconf")?;
        let text = String::from_utf8(output.stdout)?;
        Ok(Self { root: process, ticks_per_second: text.trim().parse().context("getconf CLK_TCK gave no number")? })
    }

    /// The time spent until now. Children that ended count once their parent has collected them.
    ///
    /// # Errors
    /// When `/proc` cannot be listed, or the process is gone.
    pub(crate) fn read(self) -> Result<Ticks> {
        sum(&processes()?, self.root).map(Ticks).context("the process to measure is gone")
    }

    /// Microseconds of CPU per operation between two readings. One tick is usually 10 ms: measure seconds.
    pub(crate) fn micros_each(self, (from, to): (Ticks, Ticks), operations: u32) -> f64 {
        // Exact up to 2^32 ticks, 497 days of one core.
        let ticks = u32::try_from(to.0.saturating_sub(from.0)).unwrap_or(u32::MAX);
        f64::from(ticks) * 1e6 / f64::from(self.ticks_per_second) / f64::from(operations.max(1))
    }
}

impl Stopwatch {
    /// Starts now.
    ///
    /// # Errors
    /// When the process is gone, or the kernel keeps no `schedstat`.
    pub(crate) fn start(process: u32) -> Result<Self> {
        let whose = Whose::One(process);
        Ok(Self { from: whose.threads()?, whose })
    }

    /// Starts now, for processes with everything they started and start. Those that end meanwhile do not count.
    ///
    /// # Errors
    /// As [`Stopwatch::start`].
    pub(crate) fn start_trees(roots: &[u32]) -> Result<Self> {
        let whose = Whose::Trees(roots.to_vec());
        Ok(Self { from: whose.threads()?, whose })
    }

    /// Microseconds of CPU per operation since the start.
    ///
    /// # Errors
    /// As [`Stopwatch::start`].
    pub(crate) fn micros_each(&self, operations: u32) -> Result<f64> {
        let spent = Duration::from_nanos(spent(&self.from, &self.whose.threads()?));
        Ok(spent.as_secs_f64() * 1e6 / f64::from(operations.max(1)))
    }
}

impl Whose {
    fn threads(&self) -> Result<BTreeMap<u32, u64>> {
        match self {
            Self::One(process) => threads(*process),
            Self::Trees(roots) => {
                let processes = processes()?;
                let mut all = BTreeMap::new();
                for root in roots {
                    all.extend(threads(*root)?);
                    for below in descendants(&processes, *root) {
                        // It may have ended since it was listed.
                        all.extend(threads(below).unwrap_or_default());
                    }
                }
                Ok(all)
            }
        }
    }
}

/// What threads that are there at the end have spent; one that was not there at the start has spent all it has.
fn spent(from: &BTreeMap<u32, u64>, to: &BTreeMap<u32, u64>) -> u64 {
    to.iter().map(|(thread, ns)| ns.saturating_sub(from.get(thread).copied().unwrap_or(0))).sum()
}

/// # Source
/// Linux, Documentation/scheduler/sched-stats.rst: the first field of `/proc/<pid>/schedstat`, here of a thread.
fn threads(process: u32) -> Result<BTreeMap<u32, u64>> {
    let folder = format!("/proc/{process}/task");
    let mut threads = BTreeMap::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("cannot list {folder}"))? {
        let path = entry?.path();
        let Some(thread) = path.file_name().and_then(|name| name.to_str()?.parse().ok()) else { continue };
        // A thread may end between the listing and the reading.
        let Ok(stat) = fs::read_to_string(path.join("schedstat")) else { continue };
        let ns = stat.split(' ').next().and_then(|ns| ns.parse().ok());
        threads.insert(thread, ns.with_context(|| format!("{} is not what it should be", path.display()))?);
    }
    ensure!(!threads.is_empty(), "the kernel does not tell the CPU time of threads (schedstat)");
    Ok(threads)
}

/// Every process there is.
fn processes() -> Result<BTreeMap<u32, Stat>> {
    let mut processes = BTreeMap::new();
    for entry in fs::read_dir("/proc").context("cannot list /proc")? {
        let path = entry?.path();
        let id = path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
        // A process may end between the listing and the reading.
        let stat = fs::read_to_string(path.join("stat")).ok();
        if let Some((id, stat)) = id.zip(stat.as_deref().and_then(parse)) {
            processes.insert(id, stat);
        }
    }
    Ok(processes)
}

/// Everything a process started, and what that started.
fn descendants(processes: &BTreeMap<u32, Stat>, root: u32) -> Vec<u32> {
    let children = processes.iter().filter(|(id, stat)| stat.parent == root && **id != root).map(|(id, _)| *id);
    children.flat_map(|child| std::iter::once(child).chain(descendants(processes, child))).collect()
}

/// # Source
/// proc(5), `/proc/pid/stat`: field 4 parent, 14–17 user and system time, own and of collected children.
fn parse(stat: &str) -> Option<Stat> {
    // The name in field 2 may hold anything, also spaces and parentheses.
    let (_, rest) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    Some(Stat { parent: u32::try_from(field(4)?).ok()?, ticks: field(14)? + field(15)? + field(16)? + field(17)? })
}

fn sum(processes: &BTreeMap<u32, Stat>, root: u32) -> Option<u64> {
    let own = processes.get(&root)?.ticks;
    let children = processes.iter().filter(|(id, stat)| stat.parent == root && **id != root);
    Some(own + children.filter_map(|(id, _)| sum(processes, *id)).sum::<u64>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_behind_a_name_with_spaces_and_parentheses() {
        let line = "7 (a) b (c) S 3 7 7 0 -1 4194304 99 0 0 0 10 20 3 4 20 0 1 0";
        assert_eq!(parse(line), Some(Stat { parent: 3, ticks: 37 }));
        assert_eq!(parse("7 (short) S 3"), None);
    }

    #[test]
    fn a_tree_counts_its_descendants_and_nobody_else() {
        let stat = |parent, ticks| Stat { parent, ticks };
        let processes = BTreeMap::from([(1, stat(0, 1)), (2, stat(1, 10)), (3, stat(2, 100)), (4, stat(1, 1000))]);
        assert_eq!(sum(&processes, 2), Some(110));
        assert_eq!(sum(&processes, 9), None);
        assert_eq!(descendants(&processes, 1), [2, 3, 4]);
    }

    #[test]
    fn ticks_become_microseconds_per_operation() {
        let meter = Meter { root: 1, ticks_per_second: 100 };
        let each = meter.micros_each((Ticks(50), Ticks(150)), 1000);
        assert!((each - 1000.0).abs() < 1e-9, "{each}");
    }

    #[test]
    fn what_a_thread_spent_before_and_what_ended_does_not_count() {
        let from = BTreeMap::from([(1, 100), (2, 50)]);
        assert_eq!(spent(&from, &BTreeMap::from([(1, 130), (3, 7)])), 37);
    }

    #[test]
    fn a_stopwatch_shows_the_work_of_this_process() {
        let watch = Stopwatch::start(std::process::id()).unwrap();
        let sum = (0..10_000_000_u64).fold(0_u64, |sum, n| std::hint::black_box(sum ^ n));
        assert!(watch.micros_each(1).unwrap() > 0.0, "{sum}");
    }

    #[test]
    fn this_process_can_be_measured() {
        let meter = Meter::of(std::process::id()).unwrap();
        let first = meter.read().unwrap();
        assert!(meter.read().unwrap().0 >= first.0);
    }
}
