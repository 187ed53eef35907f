package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bellmanhq/bellman/internal/bench/scratch"
	"github.com/jackc/pgx/v5/pgxpool"
)

// dropping is how long a database may take to be dropped.
const dropping = time.Minute

// A postgres is a server that runs already.
type postgres struct {
	about  string
	server *scratch.Server
}

func connectPostgres(ctx context.Context, url string) (*postgres, error) {
	s, err := scratch.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	about, err := s.About(ctx)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &postgres{about: about, server: s}, nil
}

func (p *postgres) close() error { return p.server.Close() }

// A database is new, and gone when it is closed.
type database struct {
	*scratch.Database
	pool *pgxpool.Pool
}

func (p *postgres) newDatabase(ctx context.Context, connections int) (*database, error) {
	d := &database{Database: p.server.Database(scratch.Name())}
	if err := d.Create(ctx); err != nil {
		return nil, err
	}
	var err error
	if d.pool, err = newPool(ctx, d.URL, connections); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func (d *database) close() error {
	if d.pool != nil {
		d.pool.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), dropping)
	defer cancel()
	return d.Drop(ctx)
}

func newPool(ctx context.Context, url string, connections int) (*pgxpool.Pool, error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	c.MaxConns = int32(connections)
	return pgxpool.NewWithConfig(ctx, c)
}
