package bench

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
)

// storeWaiting makes the store with many tasks for tomorrow, when it is first
// wanted.
func (r *run) storeWaiting() error {
	if r.waiting != "" {
		return nil
	}
	store := r.store("waiting")
	r.waiting = store // kept when the scenario is over
	if err := r.fill(store, r.sizes.waiting); err != nil {
		return err
	}
	r.stored = r.sizes.waiting
	return nil
}

// startWaiting starts a server on that store and lets it settle.
func (r *run) startWaiting() (*process, error) {
	if err := r.storeWaiting(); err != nil {
		return nil, err
	}
	p, err := r.start(r.waiting)
	if err != nil {
		return nil, err
	}
	sleepUntil(time.Now().Add(r.sizes.settle))
	return p, r.kept(p, int64(r.stored))
}

// fill creates tasks for tomorrow in a store.
func (r *run) fill(dir string, tasks int) error {
	p, err := r.start(dir)
	if err != nil {
		return err
	}
	n, err := p.pending(r.ctx)
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := p.createInBatches(r.ctx, r.never(tasks)); err != nil {
		return err
	}
	r.figure("accepted in batches, due tomorrow", float64(tasks)/time.Since(begun).Seconds(), "/s")
	if err := r.kept(p, n+int64(tasks)); err != nil {
		return err
	}
	return p.stop()
}

// memory: what a server has that has just started on many waiting tasks, what
// it uses while nothing happens, and what it has at most under full load.
func (r *run) memory() error {
	empty, err := r.start(r.store("empty"))
	if err != nil {
		return err
	}
	sleepUntil(time.Now().Add(r.sizes.settle))
	_, least, _ := empty.usage()
	if err := empty.stop(); err != nil {
		return err
	}
	p, err := r.startWaiting()
	if err != nil {
		return err
	}
	cpu, now, _ := p.usage()
	sleepUntil(time.Now().Add(r.sizes.idle))
	idle, _, _ := p.usage()
	if canMeasure {
		r.figure("started with nothing", mib(least), "MiB")
		r.must(r.figure("started with tasks waiting", mib(now), "MiB"), atMost(80))
		r.figure("memory a waiting task", float64(now-least)/float64(r.stored), "B")
		r.figure("idle with tasks waiting", float64((idle-cpu).Milliseconds())/r.sizes.idle.Seconds(), "ms/s")
	}
	disk, err := r.diskOf(r.waiting)
	if err != nil {
		return err
	}
	r.figure("disk a waiting task", float64(disk)/float64(r.stored), "B")

	l := r.newLoad(r.sizes.batches)
	begun := time.Now()
	if err := p.createInBatches(r.ctx, to(l, r.url)); err != nil {
		return err
	}
	if err := r.finish(p, l, int64(r.stored)); err != nil {
		return err
	}
	r.figure("in batches beside tasks waiting", float64(len(l.at))/time.Since(begun).Seconds(), "/s")
	if _, _, peak := p.usage(); peak > 0 {
		r.must(r.figure("under full load beside tasks waiting", mib(peak), "MiB"), atMost(256))
		r.busy = max(r.busy, peak)
	}
	return p.stop()
}

// memoryTenfold holds ten times as many waiting tasks against memory's figure.
func (r *run) memoryTenfold() error {
	p, err := r.startWaiting()
	if err != nil {
		return err
	}
	_, once, _ := p.usage()
	if err := p.stop(); err != nil {
		return err
	}
	if err := r.fill(r.waiting, 9*r.sizes.waiting); err != nil {
		return err
	}
	r.stored += 9 * r.sizes.waiting
	if p, err = r.startWaiting(); err != nil {
		return err
	}
	if _, now, _ := p.usage(); now > 0 {
		r.must(r.figure("started with ten times as many waiting", mib(now), "MiB").against("a tenth", mib(once)), timesAtMost(1.1))
		r.figure("ready after", float64(p.ready.Microseconds())/1000, "ms")
	}
	return p.stop()
}

// restart: kill -9 with many waiting and some overdue.
func (r *run) restart() error {
	if err := r.storeWaiting(); err != nil {
		return err
	}
	kill := func(p *process) error {
		p.kill()
		return nil
	}
	l, err := r.overdue(r.waiting, r.sizes.overdue, int64(r.stored), kill)
	if err != nil {
		return err
	}
	p, err := r.start(r.waiting)
	if err != nil {
		return err
	}
	if err := r.finish(p, l, int64(r.stored)); err != nil {
		return err
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	r.must(r.figure("ready after", ms(p.ready), "ms"), atMost(1000))
	first := time.Unix(0, l.first.Load()).Sub(p.begun)
	r.must(r.figure("first arrival after being ready", ms(max(first-p.ready, 0)), "ms"), atMost(100)) // "right after"
	r.figure("all overdue delivered after", ms(time.Since(p.begun)), "ms")
	return p.stop()
}

// diskOf returns how many bytes a store has on disk.
func (r *run) diskOf(store string) (bytes int64, err error) {
	if d := r.made[store]; d != nil {
		return d.Bytes(r.ctx)
	}
	err = filepath.WalkDir(strings.TrimPrefix(store, embedded), func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // compacted away meanwhile
		}
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	return bytes, err
}
