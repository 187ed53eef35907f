package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/bellmanhq/bellman/store"
)

// doesNotStart is the advice for a finding that also prevents a start.
const doesNotStart = "bellman serve does not start until this is changed"

// probesWithin is the longest time for the trial commits, which may wait for locks.
const probesWithin = 4 * time.Second

// skewWarning is a difference of clocks that NTP prevents.
const skewWarning = 100 * time.Millisecond

// Examine finds what a start would reject, and clocks that differ. Commits that it tries are rolled
// back.
func Examine(ctx context.Context, d Driver) []store.Finding {
	failed := func(name, text, do string) []store.Finding {
		return []store.Finding{{Name: name, Level: store.Error, What: text, Do: do}}
	}
	if err := d.Check(ctx); err != nil {
		return failed("unsuitable", err.Error(), doesNotStart)
	}
	version, err := schemaVersion(ctx, d)
	switch {
	case err != nil && version == 0:
		return failed("tables", "the tables of bellman cannot be read: "+err.Error(),
			"run bellman migrate as a user who may create tables, or grant this user SELECT, INSERT, UPDATE and DELETE on all tables that begin with bellman_")
	case err != nil:
		return failed("tables", err.Error(), doesNotStart)
	case version < len(migrations):
		return failed("tables", fmt.Sprintf("the tables have version %d, and this bellman needs %d", version, len(migrations)),
			"run bellman migrate, or bellman serve as a user who may create tables")
	}
	s, err := open(ctx, d)
	if err != nil {
		return failed("tables", err.Error(), doesNotStart)
	}
	var found []store.Finding
	switch skew, err := s.skew(ctx); {
	case err != nil:
		return failed("unreachable", err.Error(), "look at the database's log")
	case skew > store.MaxSkew:
		found = failed("clock", apart(skew), fmt.Sprintf("set both clocks by NTP: with more than %v between them, bellman serve does not start", store.MaxSkew))
	case skew > skewWarning:
		found = []store.Finding{{Name: "clock", Level: store.Warning, What: apart(skew),
			Do: fmt.Sprintf("set both clocks by NTP: with more than %v between them, bellman serve does not start", store.MaxSkew)}}
	}
	ctx, cancel := context.WithTimeout(ctx, probesWithin)
	defer cancel()
	if err := s.probeFence(ctx); err != nil {
		if s.waited(err) || s.d.Kind(err) == Lost {
			return append(found, failed("fence", err.Error(), s.wants(err))...)
		}
		found = append(found, failed("fence", err.Error(), doesNotStart)...)
	}
	if err := s.probeWrites(ctx); err != nil {
		found = append(found, failed("writes", "a commit was tried and rolled back, and failed: "+err.Error(), s.wants(err))...)
	}
	return found
}

// FewConnections is the finding of a pool that is too small.
func FewConnections(n int) store.Finding {
	return store.Finding{Name: "pool", Level: store.Warning, What: fmt.Sprintf("the address allows %d connections: one is for heartbeats, and commits, reads of due tasks and the API wait for one another", n),
		Do: "leave connections out of the address, which means 8, or set it to 4 or more"}
}
