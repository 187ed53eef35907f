package mysql

import (
	"context"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
)

func TestRaces(t *testing.T) {
	url := newDatabase(t)
	sqltest.Races(t, openTest(t, url, Options{}), openTest(t, url, Options{}), 200)
}

func TestFrozenOwner(t *testing.T) {
	url := newDatabase(t)
	o := Options{Stopped: time.Second}
	thief := openTest(t, url, o)
	owner, err := connect(context.Background(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close()
	sqltest.Frozen(t, owner, thief)
}

func TestStorm(t *testing.T) { sqltest.Storm(t, connectTest(t, newDatabase(t)), 8, 40) }

func TestSameEpochTwice(t *testing.T) { sqltest.SameEpochTwice(t, connectTest(t, newDatabase(t))) }
