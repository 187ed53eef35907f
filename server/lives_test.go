package server

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/internal/metrics"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

var (
	livesWanted = flag.Int("lives", 1000/Fewer, "how many lives TestNoticeLives plays")
	livesSeed   = flag.Uint64("lives.seed", 0, "play the lives of this seed alone")
	livesFirst  = flag.Uint64("lives.first", 1, "the first seed")
)

// livesAtOnce is how many seeds share one engine. Each makes two lives.
const livesAtOnce = 500

// Generated lives of orders, with the code that takes notices, the handlers of orders and the
// engine, over a store whose commits fail now and then. The channel is hostile: notices are lost,
// doubled, forged, early, late, out of order, of another amount or of another account, some orders
// are paid twice, and queries fail. Late and duplicate payments are refunded. Each life has a
// truth, and judge says what it allows.
func TestNoticeLives(t *testing.T) {
	seeds := uint64(*livesWanted+1) / 2
	first := *livesFirst
	if *livesSeed != 0 {
		first, seeds = *livesSeed, 1
	}
	var mu sync.Mutex
	ends := make(map[string]int)
	play := func(t *testing.T, from, till uint64) {
		w := newWorld(t, from, till)
		w.run()
		mu.Lock()
		defer mu.Unlock()
		for _, l := range w.lives {
			end, wrong := l.judge()
			for _, text := range wrong {
				t.Errorf("seed %d: %s: %s\n%s\nplay it alone with -lives.seed=%[1]d", l.seed, l, text, l.story())
			}
			ends[end]++
			if len(l.returned) > 0 {
				ends["refunds"]++
			}
			if len(l.numbers) > 1 {
				ends["told of two payments"]++
			}
		}
	}
	t.Run("bubbles", func(t *testing.T) {
		for from := first; from < first+seeds; from += livesAtOnce {
			t.Run(fmt.Sprint(from), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { play(t, from, min(from+livesAtOnce, first+seeds)) })
			})
		}
	})
	t.Log(ends)
	for _, end := range []string{"PAID", "PAID_REFUNDED", "CLOSED", "CLOSED late_payment", "UNKNOWN", "UNKNOWN amount_mismatch", "never added", "refunds", "told of two payments"} {
		if seeds > 400 && ends[end] < int(seeds)/100 {
			t.Errorf("%d of %d lives ended %s: they are not hostile enough to show anything", ends[end], 2*seeds, end)
		}
	}
}

// A world is a server without its listeners, the accounts of its queues, and what happens at the
// channels.
type world struct {
	t        testing.TB
	server   *Server
	store    *troubled
	accounts []*channelAccount
	lives    []*life
	start    time.Time
}

// livesHours is how long lives are watched: a code can be paid for half an hour, and an order is
// given up an hour after that.
const livesHours = 3 * time.Hour

func newWorld(t *testing.T, from, till uint64) *world {
	w := &world{t: t, start: time.Now(), store: &troubled{Store: memory.New(), dice: rand.New(rand.NewPCG(from, 7))}}
	log := slog.New(slog.DiscardHandler)
	w.server = &Server{log: log, store: w.store, metrics: metrics.New("test")}
	w.server.notices = &notices{server: w.server}
	w.accounts = newAccounts(t, w)
	for seed := from; seed < till; seed++ {
		// One number at two accounts: whoever mixes accounts up decides the other's order.
		accounts := [2]int{gate, otherGate}
		switch seed % 10 { // their signatures cost a millisecond each
		case 0:
			accounts[1] = ali
		case 5:
			accounts[0] = wechat
		}
		for _, i := range accounts {
			l := newLife(w, w.accounts[i], seed)
			w.accounts[i].lives[l.no] = l
			w.lives = append(w.lives, l)
		}
	}
	return w
}

// run plays the lives from their beginning to their end.
func (w *world) run() {
	queues, c := queuesOf(w)
	stop := startEngine(w.t, w.server, queues, c)
	var played sync.WaitGroup
	for _, l := range w.lives {
		l.play(&played)
	}
	played.Wait()
	time.Sleep(time.Until(w.start.Add(livesHours)))
	stop()
}

// startEngine runs the engine of a server that has no listeners, until stop.
func startEngine(t testing.TB, s *Server, queues []engine.Queue, c *config.Config) (stop func()) {
	t.Helper()
	var err error
	if s.engine, err = engine.New(engine.Options{Store: s.store, Queues: queues, Node: "n", Process: "1", Logger: s.log}); err != nil {
		t.Fatal(err)
	}
	readers, wrong := s.receivers(queues, c)
	if err := wrong.Err(); err != nil {
		t.Fatal(err)
	}
	s.notices.set(readers)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.engine.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

// A troubled store is a real one. Some of its commits fail, and of some nobody knows.
type troubled struct {
	*memory.Store
	mu   sync.Mutex
	dice *rand.Rand
	down atomic.Bool // every commit fails
}

var errTrouble = errors.New("the disk is on fire")

func (s *troubled) Commit(ctx context.Context, b *store.Batch) error {
	if s.down.Load() {
		return errTrouble
	}
	s.mu.Lock()
	n := s.dice.IntN(600)
	s.mu.Unlock()
	switch n {
	case 0:
		return errTrouble
	case 1:
		return bellman.ErrUnknown
	case 2:
		if err := s.Store.Commit(ctx, b); err != nil {
			return err
		}
		return fmt.Errorf("%w: but it was written", bellman.ErrUnknown)
	}
	return s.Store.Commit(ctx, b)
}
