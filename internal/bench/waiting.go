package bench

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
)

// storeWaiting creates the store with many tasks due tomorrow, at its first call.
func (r *run) storeWaiting() {
	if r.waiting != "" {
		return
	}
	r.waiting = r.store("waiting") // kept after the scenario
	r.fill(r.sizes.waiting)
}

// startWaiting starts a server on that store and lets it settle.
func (r *run) startWaiting() *process {
	r.storeWaiting()
	p := r.start(r.waiting)
	sleepUntil(time.Now().Add(r.sizes.settle))
	r.kept(p, r.stored)
	return p
}

// fill creates tasks due tomorrow in that store.
func (r *run) fill(tasks int) {
	p := r.start(r.waiting)
	begun := time.Now()
	try(createInBatches(r.ctx, r.never(tasks), p))
	r.figure("accepted in batches, due tomorrow", float64(tasks)/time.Since(begun).Seconds(), "/s")
	r.stored += tasks
	r.kept(p, r.stored)
	try(p.stop())
}

// memory measures a freshly started server with many waiting tasks, idle and under full load.
func (r *run) memory() {
	empty := r.start(r.store("empty"))
	sleepUntil(time.Now().Add(r.sizes.settle))
	_, least, _ := empty.usage()
	try(empty.stop())
	p := r.startWaiting()
	cpu, now, _ := p.usage()
	sleepUntil(time.Now().Add(r.sizes.idle))
	idle, _, _ := p.usage()
	if canMeasure {
		r.figure("started with nothing", mib(least), "MiB")
		r.require(r.figure("started with tasks waiting", mib(now), "MiB"), atMost(80))
		r.figure("memory a waiting task", float64(now-least)/float64(r.stored), "B")
		r.figure("idle with tasks waiting", float64((idle-cpu).Milliseconds())/r.sizes.idle.Seconds(), "ms/s")
	}
	r.figure("disk a waiting task", float64(r.diskOf(r.waiting))/float64(r.stored), "B")
	r.figure("in batches beside tasks waiting", r.timed(p, r.sizes.batches, r.stored, func(l *load) {
		try(createInBatches(r.ctx, to(l, r.url), p))
	}), "/s")
	r.peak(p, "under full load beside tasks waiting", mostMemory())
	try(p.stop())
}

// memoryTenfold compares memory with ten times as many waiting tasks.
func (r *run) memoryTenfold() {
	p := r.startWaiting()
	_, once, _ := p.usage()
	try(p.stop())
	r.fill(9 * r.sizes.waiting)
	p = r.startWaiting()
	if _, now, _ := p.usage(); now > 0 {
		r.require(r.figure("started with ten times as many waiting", mib(now), "MiB").against("a tenth", mib(once)), timesAtMost(1.1))
		r.figure("ready after", ms(p.ready), "ms")
	}
	try(p.stop())
}

// restart: kill -9 with many tasks waiting and some overdue.
func (r *run) restart() {
	r.storeWaiting()
	l := r.overdue(r.waiting, r.sizes.overdue, int64(r.stored), (*process).kill)
	p := r.start(r.waiting)
	r.finish(p, l, int64(r.stored))
	r.require(r.figure("ready after", ms(p.ready), "ms"), atMost(1000))
	first := time.Unix(0, l.first.Load()).Sub(p.begun)
	r.require(r.figure("first arrival after being ready", ms(max(first-p.ready, 0)), "ms"), atMost(100)) // "right after"
	r.figure("all overdue delivered after", ms(time.Since(p.begun)), "ms")
	try(p.stop())
}

// bytes measures the disk space of a waiting task, and of one that was delivered at its first
// attempt, and what a million of the latter cost. The size of an empty store is subtracted. Space
// that the store has not freed yet, such as old rows, counts.
func (r *run) bytes() {
	measure := func(name string, tasks int, put func(*process)) (each float64) {
		store := r.store(name)
		try(r.start(store).stop())
		empty := r.diskOf(store)
		p := r.start(store)
		put(p)
		try(p.stop())
		full := r.diskOf(store)
		if full <= empty {
			try(fmt.Errorf("the store has %d bytes with %d tasks, and had %d without", full, tasks, empty))
		}
		each = float64(full-empty) / float64(tasks)
		r.figure("a "+name+" task", each, "B")
		return each
	}
	tasks := max(r.sizes.waiting/4, 1)
	measure("waiting", tasks, func(p *process) {
		try(createInBatches(r.ctx, r.never(tasks), p))
		r.kept(p, tasks)
	})
	tasks = r.sizes.waiting
	million := 1e6 / float64(tasks)
	kept := measure("delivered", tasks, func(p *process) {
		before, written := r.used(p), r.written(p)
		r.timed(p, tasks, 0, func(l *load) { try(createInBatches(r.ctx, to(l, r.url), p)) })
		now := r.used(p)
		if now.server > 0 {
			r.figure("a million delivered: processor time of the server", million*(now.server-before.server).Seconds(), "s")
		}
		if now.database > 0 {
			r.figure("a million delivered: processor time of the database", million*(now.database-before.database).Seconds(), "s")
		}
		if written = r.written(p) - written; written > 0 {
			r.figure("a million delivered: written to disk", million*mib(written), "MiB")
		}
	})
	r.figure("a million delivered: kept on disk", kept*1e6/(1<<20), "MiB")
}

// written returns the bytes that the store has written so far; 0: unknown.
func (r *run) written(p *process) int64 {
	if r.server == nil {
		return writtenBy(p.cmd.Process.Pid)
	}
	if r.databasePid == 0 {
		return 0
	}
	return writtenBy(r.databasePid)
}

// diskOf returns the size of a store on disk.
func (r *run) diskOf(store string) (bytes int64) {
	if d := r.made[store]; d != nil {
		return must(d.Bytes(r.ctx))
	}
	try(filepath.WalkDir(strings.TrimPrefix(store, embedded), func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // deleted by a compaction meanwhile
		}
		if err == nil {
			bytes += info.Size()
		}
		return err
	}))
	return bytes
}
