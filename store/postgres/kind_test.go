package postgres

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bellmanhq/bellman/internal/sqlstore"
)

func TestKind(t *testing.T) {
	d := &database{}
	for code, want := range map[string]sqlstore.Kind{
		"40001": sqlstore.Retry, "40P01": sqlstore.Retry, "55P03": sqlstore.Blocked, "22003": sqlstore.Overflow, "23505": sqlstore.Duplicate,
		"42P07": sqlstore.Exists, "42701": sqlstore.Exists, "53100": sqlstore.Full, "25006": sqlstore.Lost, "25P03": sqlstore.Lost, "57P01": sqlstore.Lost, "08006": sqlstore.Lost,
		"42601": sqlstore.Other, "42501": sqlstore.Other, "23502": sqlstore.Other,
	} {
		if got := d.Kind(&sqlstore.Failed{Statement: &sqlstore.Statement{}, Err: &pgconn.PgError{Code: code}}); got != want {
			t.Errorf("Kind(%s) = %d, want %d", code, got, want)
		}
	}
	if got := d.Kind(errLost{errors.New("cut")}); got != sqlstore.Lost {
		t.Errorf("Kind() of a lost connection = %d, want %d", got, sqlstore.Lost)
	}
}
