package server

import (
	"context"
	"math"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
)

func TestRest(t *testing.T) {
	const mib = 1 << 20
	tests := []struct {
		name      string
		allocated []uint64 // MiB in each second
		want      []bool
	}{
		{"nothing to do", []uint64{1, 1, 1}, []bool{false, false, false}},
		{"much, then little", []uint64{100, 100, 2, 2}, []bool{false, false, true, false}},
		{"much at all times", []uint64{100, 100, 100}, []bool{false, false, false}},
		{"a little more than little", []uint64{100, 5, 5, 4}, []bool{false, false, false, true}},
		{"little for long", []uint64{100, 0, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4},
			[]bool{false, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true, false}},
		{"again", []uint64{100, 0, 63, 0, 1, 0}, []bool{false, true, false, false, true, false}},
	}
	for _, tt := range tests {
		var r rest
		var sum uint64
		for i, n := range tt.allocated {
			sum += n * mib
			if got := r.begins(sum); got != tt.want[i] {
				t.Errorf("%s: second %d: %t; want %t", tt.name, i+1, got, tt.want[i])
			}
		}
	}
}

func TestLimitForStore(t *testing.T) {
	for store, want := range map[string]int64{
		"pebble:bellman-data":                   memoryLimit - outsideBytes,
		"postgres://postgres@127.0.0.1/bellman": memoryLimit,
		"redis://127.0.0.1:6379/0":              memoryLimit,
		"nothing":                               memoryLimit - outsideBytes, // Open says what is wrong
	} {
		if got := limitFor(store); got != want {
			t.Errorf("limitFor(%q) = %d; want %d", store, got, want)
		}
	}
}

func TestCacheForLimit(t *testing.T) {
	for limit, want := range map[int64]int64{
		math.MaxInt64:              memoryLimit / 3, // no server
		memoryLimit - outsideBytes: memoryLimit / 3, // the default
		84<<20 - outsideBytes:      28 << 20,
		20 << 20:                   max(16<<20, (20<<20+outsideBytes)/3),
		1<<30 - outsideBytes:       memoryLimit / 3,
		48<<20 - outsideBytes - 99: 16 << 20,
	} {
		if got := cacheFor(limit); got != want {
			t.Errorf("cacheFor(%d) = %d; want %d", limit, got, want)
		}
	}
}

func TestLimitOfMemoryUse(t *testing.T) {
	for _, tt := range []struct{ live, other, least, want int64 }{
		{40, 20, 100, 100},
		{70, 20, 100, 100},
		{70, 22, 100, 106},
		{130, 30, 100, 310},
		{130, 30, 200, 200},
	} {
		m := memoryUse{live: uint64(tt.live << 20), other: uint64(tt.other << 20)}
		if got := m.limit(tt.least << 20); got != tt.want<<20 {
			t.Errorf("%d MiB live and %d other, with %d at least: the limit is %d bytes; want %d MiB", tt.live, tt.other, tt.least, got, tt.want)
		}
	}
}

// The limit follows the memory in use, but GOMEMLIMIT is kept.
func TestGiveBackMemoryRaisesTheLimit(t *testing.T) {
	for _, tt := range []struct {
		env  string
		kept bool
	}{{"", false}, {"1MiB", true}} {
		const limit = 1 << 20
		t.Setenv("GOMEMLIMIT", tt.env)
		before := debug.SetMemoryLimit(limit)
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			GiveBackMemory(ctx)
		})
		if got := debug.SetMemoryLimit(before); (got == limit) != tt.kept {
			t.Errorf("GOMEMLIMIT is %q and the limit %d: it is %d afterwards; want it kept: %t", tt.env, limit, got, tt.kept)
		}
	}
}

func TestGiveBackMemoryEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		GiveBackMemory(ctx)
	})
}
