package sqlstore

import (
	"cmp"
	"context"
	"fmt"
)

// migrations are the steps from an empty database to the present layout. A released step never
// changes. An interrupted step can be run again, because an object that exists is no error.
//
//	{id}     16 bytes
//	{name}   at most bellman.MaxStoredName bytes, in indexes
//	{key}    at most bellman.MaxStoredKey bytes, in indexes
//	{bytes}  any number of bytes
//	{table}  end of a table's definition
//	{hot}    the same, for a table whose many rows come and go
//	{busy}   the same, for a table whose few rows change at each commit
//	{with COLUMN}  end of an index that contains the column before the id: statements that do not name the column must not use it
var migrations = [][]string{{
	`CREATE TABLE bellman_task (
		id {id} NOT NULL PRIMARY KEY,
		added_by BIGINT NOT NULL,
		queue {name} NOT NULL,
		task_key {key},
		digest {name} NOT NULL,
		merchant_no {name},
		order_no {name},
		event {bytes},
		url_host {name},
		url {bytes},
		body {bytes},
		rest {bytes} NOT NULL
	){table}`,
	`CREATE UNIQUE INDEX bellman_task_key ON bellman_task (queue, task_key)`,
	`CREATE INDEX bellman_task_merchant ON bellman_task (merchant_no, id){with merchant_no}`,
	`CREATE INDEX bellman_task_order ON bellman_task (order_no, id){with order_no}`,
	`CREATE INDEX bellman_task_host ON bellman_task (url_host, id){with url_host}`,
	`CREATE TABLE bellman_alias (
		alias {key} NOT NULL PRIMARY KEY,
		id {id} NOT NULL
	){table}`,
	`CREATE INDEX bellman_alias_task ON bellman_alias (id)`,
	`CREATE TABLE bellman_live (
		id {id} NOT NULL PRIMARY KEY,
		shard INTEGER NOT NULL,
		look BIGINT NOT NULL,
		version BIGINT NOT NULL,
		due BIGINT NOT NULL,
		line BIGINT NOT NULL,
		attempts BIGINT NOT NULL,
		queue {name} NOT NULL,
		rest {bytes} NOT NULL
	){hot}`,
	`CREATE INDEX bellman_live_due ON bellman_live (shard, look, id, version, due, line, attempts){with shard}`,
	`CREATE TABLE bellman_ended (
		state SMALLINT NOT NULL,
		id {id} NOT NULL,
		finished BIGINT NOT NULL,
		reason {bytes},
		shard INTEGER NOT NULL,
		version BIGINT NOT NULL,
		line BIGINT NOT NULL,
		attempts BIGINT NOT NULL,
		queue {name} NOT NULL,
		rest {bytes} NOT NULL,
		attempt {bytes},
		PRIMARY KEY (state, id)
	){table}`,
	`CREATE INDEX bellman_ended_finished ON bellman_ended (state, finished, id){with finished}`,
	`CREATE TABLE bellman_attempt (
		task_id {id} NOT NULL,
		number BIGINT NOT NULL,
		cause SMALLINT NOT NULL,
		due BIGINT NOT NULL,
		started BIGINT NOT NULL,
		took_ns BIGINT NOT NULL,
		result SMALLINT NOT NULL,
		status BIGINT NOT NULL,
		action {bytes},
		reading {bytes},
		response {bytes},
		error {bytes},
		node {bytes},
		timing {bytes},
		header {bytes},
		PRIMARY KEY (task_id, number)
	){table}`,
	// The places of pending tasks among those of their ordering key; seq is in µs.
	`CREATE TABLE bellman_order (
		id {id} NOT NULL PRIMARY KEY,
		queue {name} NOT NULL,
		ordering_key {key} NOT NULL,
		supersedes SMALLINT NOT NULL,
		seq BIGINT NOT NULL
	){hot}`,
	`CREATE INDEX bellman_order_key ON bellman_order (queue, ordering_key, supersedes, seq, id){with queue}`,
	`CREATE TABLE bellman_depth (
		queue {name} NOT NULL,
		state SMALLINT NOT NULL,
		slot BIGINT NOT NULL,
		tasks BIGINT NOT NULL,
		PRIMARY KEY (queue, state, slot)
	){busy}`,
	`CREATE TABLE bellman_count (
		id {id} NOT NULL PRIMARY KEY,
		queue {name} NOT NULL,
		state SMALLINT NOT NULL,
		tasks BIGINT NOT NULL
	){busy}`,
	`CREATE TABLE bellman_shard (
		shard INTEGER NOT NULL PRIMARY KEY,
		epoch BIGINT NOT NULL,
		fence BIGINT NOT NULL,
		owner {name} NOT NULL
	){busy}`,
	`CREATE TABLE bellman_node (
		name {name} NOT NULL PRIMARY KEY,
		addr {bytes} NOT NULL,
		version {bytes} NOT NULL,
		joined BIGINT NOT NULL,
		beat BIGINT NOT NULL,
		beats BIGINT NOT NULL,
		ttl_ms BIGINT NOT NULL,
		expires BIGINT NOT NULL
	){busy}`,
	`CREATE TABLE bellman_doc (
		kind {name} NOT NULL,
		name {key} NOT NULL,
		value {bytes} NOT NULL,
		PRIMARY KEY (kind, name)
	){table}`,
	// address is that of the person or service that made the change; changes are the changed fields
	// as JSON.
	`CREATE TABLE bellman_audit (
		at BIGINT NOT NULL,
		id {id} NOT NULL,
		who {bytes} NOT NULL,
		action {bytes} NOT NULL,
		target {bytes} NOT NULL,
		reason {bytes} NOT NULL,
		address {bytes},
		job {bytes},
		changes {bytes},
		PRIMARY KEY (at, id)
	){table}`,
}}

// Migrate brings the schema of a database to the present layout and creates what is missing. It can
// be run any number of times, by several processes at once. Shards, 64 if their number is zero, are
// created with the schema; their number never changes. If the schema is up to date, Migrate needs
// no right to create tables.
func Migrate(ctx context.Context, d Driver, shards int) error {
	if err := d.Check(ctx); err != nil {
		return err
	}
	if version, err := schemaVersion(ctx, d); err == nil && version == len(migrations) {
		return nil
	}
	// shards is their number, because the rows of bellman_shard change at every commit.
	err := d.Define(ctx, `CREATE TABLE bellman_schema (version BIGINT NOT NULL PRIMARY KEY, applied BIGINT NOT NULL, shards BIGINT NOT NULL){table}`)
	if err != nil && d.Kind(err) != Exists && d.Kind(err) != Duplicate { // a duplicate: two create it at once
		return fmt.Errorf("create schema: %w", err)
	}
	return d.Alone(ctx, func() error {
		version, err := schemaVersion(ctx, d)
		if err != nil {
			return err
		}
		for tries := 0; version < len(migrations); {
			err := migrate(ctx, d, version, shards)
			if err == nil {
				version++
				continue
			}
			// Alone excludes the clients of one server only. On another member of a cluster, such
			// as Galera, a process may have run this step at the same time.
			if kind := d.Kind(err); tries == stepTries || kind != Duplicate && kind != Retry && kind != Blocked {
				return fmt.Errorf("migrate schema to version %d: %w", version+1, err)
			}
			tries++
			if version, err = schemaVersion(ctx, d); err != nil {
				return err
			}
		}
		return nil
	})
}

// stepTries is the number of retries of a step that another process runs at the same time.
const stepTries = 10

func migrate(ctx context.Context, d Driver, version, shards int) error {
	for _, text := range migrations[version] {
		if err := d.Define(ctx, text); err != nil && d.Kind(err) != Exists {
			return err
		}
	}
	tx, err := d.Begin(ctx)
	if err != nil {
		return err
	}
	statements := []*Statement{{Name: "note version", Text: `INSERT INTO bellman_schema (version, applied, shards) VALUES (?, {now}, (SELECT COUNT(*) FROM bellman_shard))`, Args: []any{int64(version + 1)}}}
	if version == 0 {
		statements = append([]*Statement{newShards(cmp.Or(shards, 64))}, statements...)
	}
	if err := tx.Send(ctx, statements...); err != nil {
		tx.Rollback()
		return err
	}
	return tx.Commit(ctx)
}

// newShards inserts the rows of shards, which are never deleted. The fence
// begins at 1, so that adding the largest number to it overflows.
func newShards(n int) *Statement {
	shards, zeros, ones, owners := make([]int64, n), make([]int64, n), make([]int64, n), make([][]byte, n)
	for i := range n {
		shards[i], ones[i], owners[i] = int64(i), 1, []byte{}
	}
	return &Statement{Name: "create shards", Insert: &Insert{Into: "bellman_shard", Key: []string{"shard"}, Then: Keep,
		Columns: []Column{{"shard", shards}, {"epoch", zeros}, {"fence", ones}, {"owner", owners}}}}
}

// schemaVersion reads the version of a database's schema; 0: it is empty. A
// schema newer than this code is an error.
func schemaVersion(ctx context.Context, d Driver) (int, error) {
	var version int64
	err := d.Read(ctx, &Statement{Name: "read schema version", Text: `SELECT COALESCE(MAX(version), 0) FROM bellman_schema`,
		Each: func(r Row) error { return r.Scan(&version) }})
	if err != nil {
		return 0, err
	}
	if int(version) > len(migrations) {
		return 0, newer(int(version))
	}
	return int(version), nil
}

func newer(version int) error {
	return fmt.Errorf("the schema has version %d, this bellman knows %d: run the bellman that made it, or a newer one", version, len(migrations))
}

func older(version int) error {
	return fmt.Errorf("the schema has version %d, this bellman needs %d: migrate it, as a user who may create tables", version, len(migrations))
}
