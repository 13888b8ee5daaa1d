package probe

// table names the probes.
func table() map[string]Func {
	all := map[string]Func{}
	for _, part := range []map[string]Func{resources(), lifetime(), filesystem(), kernel(), network(), secrets(), terminal(), project()} {
		for name, f := range part {
			all[name] = f
		}
	}
	return all
}

func resources() map[string]Func {
	return map[string]Func{
		"fork-bomb": forkBomb, "thread-bomb": threadBomb, "thread-bomb-child": threadBombChild,
		"memory-bomb": memoryBomb, "memory-many": memoryMany, "memory-file": memoryFile, "memory-shared": memoryShared, "swap-out": swapOut,
		"lock-memory": lockMemory, "disk-fill": diskFill, "sysv-shm": sysvShm, "posix-mq": posixMQ,
		"pipe-bloat": pipeBloat, "socket-bloat": socketBloat, "lookups": lookups, "write-out": writeOut, "async-requests": asyncRequests, "flying-files": flyingFiles, "fat-pipes": fatPipes, "epoll-watches": epollWatches, "file-lease": fileLease, "inodes": inodes,
		"workspace-inodes": workspaceInodes, "workspace-fill": workspaceFill, "big-file": bigFile,
		"sparse-file": sparseFile, "allocate": allocate, "spin": spin, "open-files": openFiles,
		"inotify": inotifyStarve, "terminals": terminalStarve, "pending-signals": pendingSignals,
		"keyring": keyring, "realtime": realtime, "long-line": longLine, "flood": flood, "drip": drip,
		"zombies": zombies, "deep-tree": deepTree, "many-files": manyFiles, "odd-names": oddNames,
	}
}

func lifetime() map[string]Func {
	return map[string]Func{
		"daemon": daemon, "kept-connection": keepConnection, "stubborn": stubborn, "nap": napAndEnd, "hold": holdOn, "schedulers": schedulers,
		"forever": func(Args) Verdict { return forever() },
	}
}

func filesystem() map[string]Func {
	return map[string]Func{
		"host-paths": hostPaths, "chroot": chrootEscape, "leaked-files": leakedFiles, "working-dir": workingDir,
		"file-handle": fileHandle, "mounts": mounts, "unmask": unmask, "nested-namespaces": nestedNamespaces,
		"proc-writes": procWrites, "kernel-files": kernelFiles, "devices": devices, "privileges": privileges,
		"file-caps": fileCaps, "copies": copies, "walls": walls, "own-program": ownProgram, "cgroups": cgroups,
		"core-dump": coreDump, "link-lower": linkLower, "overwrite": overwrite, "steady-view": steadyView,
		"read-only": readOnlyMounts, "self-memory": selfMemory,
	}
}

func kernel() map[string]Func {
	return map[string]Func{
		"other-processes": otherProcesses, "forbidden-calls": forbiddenCalls, "io-ring": ioRing,
		"foreign-calls": foreignCalls, "clone3-user": clone3User, "families": families, "clocks": clocks,
		"irreversible": irreversible, "signals": signals, "unknown-calls": unknownCalls,
		"lock-channel": lockChannel, "open-watch": openWatch, "host-identity": hostIdentity,
	}
}

func network() map[string]Func {
	return map[string]Func{
		"no-network": noNetwork, "metadata": metadata, "host-services": hostServices, "host-sockets": hostSockets,
		"name-leak": nameLeak, "gateway": askGateway, "network-past": networkPast,
	}
}

func secrets() map[string]Func {
	return map[string]Func{
		"environment": environment, "home-secrets": homeSecrets, "service-sockets": serviceSockets,
		"workbench-secrets": workbenchSecrets, "leave-traces": leaveTraces, "find-traces": findTraces, "timing": timing,
	}
}

func terminal() map[string]Func {
	return map[string]Func{
		"type-ahead": typeAhead, "print-hostile": printHostile, "print-spoof": printSpoof, "print-torn": printTorn,
		"fake-protocol": fakeProtocol,
	}
}

func project() map[string]Func {
	return map[string]Func{
		"leave-links": leaveLinks, "write-through": writeThrough, "reshape": reshape, "special-bits": specialBits,
		"odd-files": oddFiles, "write-files": writeFiles, "move-into": moveInto, "big-change": bigChange,
		"write-own": writeOwn,
	}
}
