//! The walls around a worker: what the process gives up before it sees anything of a component.
//!
//! From the outside in: no descriptor but its own three, death with its host, no core file and nobody to trace it, no new privileges,
//! namespaces of its own (no network, no other process's IPC), landlock (no files, no TCP), limits of memory, processor time, files and
//! processes, and at last a filter of system calls, over all its threads.
//!
//! Promises: the filter stands when [`filter`] has said so, else the worker ends; everything that may not happen kills the process, what
//! nobody thought of is refused. Walls that a kernel or a container does not have are reported as missing, not believed. Leaves to the host
//! whether the others must stand.

use std::collections::BTreeMap;

use landlock::{ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetStatus, Scope};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::Signal;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};
use serde::{Deserialize, Serialize};

/// A wall, and whether it stands.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Wall {
    /// `seccomp`, `landlock` ...
    pub name: String,
    /// Whether it stands.
    pub stands: bool,
    /// What it keeps from the worker, or why it does not stand.
    pub detail: String,
}

impl Wall {
    /// The wall without which nothing untrusted runs.
    pub const FILTER: &str = "seccomp";

    fn of(name: &str, raised: Result<String, String>) -> Self {
        let (stands, detail) = match raised {
            Ok(detail) => (true, detail),
            Err(why) => (false, why),
        };
        Self { name: name.into(), stands, detail }
    }
}

/// Gives up what needs no limits: to be called first, while the process has one thread.
pub fn leave_the_world() -> Vec<Wall> {
    let said = |detail: &str| detail.to_string();
    let told = |done: nix::Result<()>, detail: &str| done.map(|()| said(detail)).map_err(|e| e.to_string());
    vec![
        // Whoever is not dumpable cannot list them.
        Wall::of("descriptors", close_descriptors().map(|()| said("none but its own"))),
        // Other credentials, as a namespace gives, would take the next two back.
        Wall::of("namespaces", namespaces()),
        Wall::of("death", told(prctl::set_pdeathsig(Signal::SIGKILL), "dies with its host")),
        Wall::of("dumpable", told(prctl::set_dumpable(false), "cannot be traced, leaves no core")),
        Wall::of("privileges", told(prctl::set_no_new_privs(), "can gain none")),
        Wall::of("landlock", landlocked()),
    ]
}

/// Closes every descriptor but standard input, output and error.
fn close_descriptors() -> Result<(), String> {
    let folder = std::fs::read_dir("/proc/self/fd").map_err(|e| format!("/proc/self/fd: {e}"))?;
    let open: Vec<i32> = folder.filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok()).collect();
    for descriptor in open.into_iter().filter(|d| *d > 2) {
        // That of the folder is closed already, and nobody else has one.
        let _ = nix::unistd::close(descriptor);
    }
    Ok(())
}

fn namespaces() -> Result<String, String> {
    let empty = CloneFlags::CLONE_NEWUSER
        | CloneFlags::CLONE_NEWNET
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWUTS;
    unshare(empty).map(|()| "user, network, IPC and mounts of its own".to_string()).map_err(|e| e.to_string())
}

fn landlocked() -> Result<String, String> {
    let abi = ABI::V6;
    let ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(abi))
        .and_then(|r| r.handle_access(AccessNet::from_all(abi)))
        .and_then(|r| r.scope(Scope::from_all(abi)))
        .and_then(|r| r.create())
        .and_then(|r| r.restrict_self());
    match ruleset.map_err(|e| e.to_string())?.ruleset {
        RulesetStatus::FullyEnforced => Ok("no files, no TCP, no signals to others".to_string()),
        RulesetStatus::PartiallyEnforced => Ok("what this kernel's version of it has: files at least".to_string()),
        RulesetStatus::NotEnforced => Err("this kernel has none".to_string()),
    }
}

/// What a worker may use.
pub struct Room {
    /// Bytes of memory that it may fill.
    pub data_bytes: u64,
    /// Bytes of addresses that it may set aside.
    pub address_bytes: u64,
    /// Seconds of processor time.
    pub cpu_seconds: u64,
}

/// Sets the limits of the process.
pub fn limit(room: &Room) -> Wall {
    let last = room.cpu_seconds.saturating_add(1);
    let limits = [
        (Resource::RLIMIT_DATA, room.data_bytes, room.data_bytes),
        (Resource::RLIMIT_AS, room.address_bytes, room.address_bytes),
        // The first ends the process with a signal that names the cause.
        (Resource::RLIMIT_CPU, room.cpu_seconds, last),
        (Resource::RLIMIT_FSIZE, 0, 0),
        (Resource::RLIMIT_NOFILE, 0, 0),
        (Resource::RLIMIT_NPROC, 0, 0),
        (Resource::RLIMIT_CORE, 0, 0),
        (Resource::RLIMIT_MEMLOCK, 0, 0),
        (Resource::RLIMIT_MSGQUEUE, 0, 0),
    ];
    let set = limits.iter().try_for_each(|(what, soft, hard)| {
        // A hard limit that is lower already is not raised.
        let (_, old) = nix::sys::resource::getrlimit(*what)?;
        setrlimit(*what, (*soft).min(old), (*hard).min(old))
    });
    let detail = format!(
        "{} MiB of memory, {} s of processor time, no files, no processes",
        room.data_bytes >> 20,
        room.cpu_seconds
    );
    Wall::of("rlimits", set.map(|()| detail).map_err(|e| e.to_string()))
}

/// What a worker needs: memory, waiting for its threads, its two ends, its own end.
const ALLOWED: &[i64] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_getrandom,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_set_robust_list,
    libc::SYS_membarrier,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// What nothing in a worker ever does: whoever asks for it is somebody else. Everything that is on no list is refused.
const DEADLY: &[i64] = &[
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_recvmsg,
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_bpf,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_open_tree,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_kexec_load,
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_fchmodat,
    libc::SYS_fchownat,
    libc::SYS_truncate,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_mq_open,
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
];

/// Names of the same acts that only older architectures have.
#[cfg(target_arch = "x86_64")]
const DEADLY_OF_OLD: &[i64] = &[
    libc::SYS_open,
    libc::SYS_creat,
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_unlink,
    libc::SYS_rename,
    libc::SYS_link,
    libc::SYS_symlink,
    libc::SYS_mkdir,
    libc::SYS_rmdir,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_modify_ldt,
    libc::SYS_iopl,
    libc::SYS_ioperm,
];
#[cfg(not(target_arch = "x86_64"))]
const DEADLY_OF_OLD: &[i64] = &[];

/// Filters the system calls of all threads of the process. Nothing of a component may be looked at before this.
pub fn filter() -> Wall {
    let raised = programs().and_then(|programs| {
        programs.iter().try_for_each(|p| seccompiler::apply_filter_all_threads(p).map_err(|e| e.to_string()))
    });
    let detail = format!("{} system calls, others are refused or kill", ALLOWED.len().saturating_add(1));
    Wall::of(Wall::FILTER, raised.map(|()| detail))
}

/// One program for what is refused and one for what kills: of two that disagree the kernel takes the stricter.
fn programs() -> Result<[BpfProgram; 2], String> {
    let mut allowed: BTreeMap<i64, Vec<SeccompRule>> = ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    allowed.insert(libc::SYS_tgkill, vec![only_abort()?]);
    let deadly = DEADLY.iter().chain(DEADLY_OF_OLD).map(|call| (*call, Vec::new())).collect();
    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    // The stricter one last: under it no further filter could be set.
    Ok([
        program(deadly, SeccompAction::Allow, SeccompAction::KillProcess)?,
        program(allowed, refuse, SeccompAction::Allow)?,
    ])
}

/// A process that aborts sends itself that one signal.
fn only_abort() -> Result<SeccompRule, String> {
    let own = u64::from(std::process::id());
    let abort = u64::from(libc::SIGABRT.unsigned_abs());
    let equal = |index, value| SeccompCondition::new(index, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value);
    let conditions = [equal(0, own), equal(2, abort)].into_iter().collect::<Result<Vec<_>, _>>();
    conditions.and_then(SeccompRule::new).map_err(|e| e.to_string())
}

fn program(
    calls: BTreeMap<i64, Vec<SeccompRule>>,
    others: SeccompAction,
    these: SeccompAction,
) -> Result<BpfProgram, String> {
    let arch = std::env::consts::ARCH.try_into().map_err(|e: seccompiler::BackendError| e.to_string())?;
    let filter = SeccompFilter::new(calls, others, these, arch).map_err(|e| e.to_string())?;
    filter.try_into().map_err(|e: seccompiler::BackendError| e.to_string())
}
