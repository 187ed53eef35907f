package torture

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/eventually"
)

// brokers is a node that takes messages from a RabbitMQ and a NATS, on a PostgreSQL behind a proxy.
// All of them are private.
type brokers struct {
	rabbit, bus *machine
	database    *postgres
	proxy       *proxy
	node        *node
	journal     *journal
	merchant    *merchant
}

// A merchant records which task brought which message, and accepts it.
type merchant struct {
	url  string
	mu   sync.Mutex
	seen map[string][]brought // by body
}

// A brought is one delivery.
type brought struct {
	task, attempt string
	at            time.Time
}

func newMerchant(t testing.TB) *merchant {
	m := &merchant{seen: map[string][]brought{}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the sender died while sending
		}
		m.mu.Lock()
		m.seen[string(body)] = append(m.seen[string(body)], brought{r.Header.Get("Bellman-Task"), r.Header.Get("Bellman-Attempt"), time.Now()})
		m.mu.Unlock()
		io.WriteString(w, "success")
	}))
	t.Cleanup(s.Close)
	m.url = s.URL
	return m
}

// missing returns how many of the bodies did not arrive, and one of them.
func (m *merchant) missing(of map[string]bool) (n int, one string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for body := range of {
		if len(m.seen[body]) == 0 {
			n++
			one = body
		}
	}
	return n, one
}

func (m *merchant) arrived() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.seen)
}

// brokersFile is the node's configuration. A task in flight at the node's death is retried soon.
// Otherwise a task in flight at three deaths in a row would be quarantined.
const brokersFile = `
egress: {allow: [127.0.0.1]}
queues: {told: {url: %q, schedule: "0s, 100ms*20, 1s*60"}}
connections: {main: {url: %q}, bus: {url: %q}}
sources:
  - {connection: main, queue: paid, into: told, map: {json: json}}
  - {connection: bus, stream: PAID, durable: bellman, subjects: [paid.>], into: told, map: {json: json}}
`

func newBrokers(t *testing.T) *brokers {
	b := &brokers{rabbit: newRabbit(t), bus: newNATS(t), database: newPostgres(t, "postgres"), journal: &journal{}, merchant: newMerchant(t)}
	var starts sync.WaitGroup
	b.rabbit.launch(t)
	starts.Go(func() { b.bus.start(t) })
	starts.Go(func() { b.database.start(t) })
	starts.Wait()
	if !eventually.Within(eventually.Limit, b.rabbit.answers) {
		t.Fatalf("RabbitMQ does not answer:\n%s", b.rabbit.current().said.tail(30))
	}
	b.stream(t)
	b.proxy = newProxy(t, b.database.address, postgresWires)
	b.node = newNode(t, 0, postgresURL(b.proxy.address))
	b.node.file = filepath.Join(t.TempDir(), "bellman.yaml")
	text := fmt.Sprintf(brokersFile, b.merchant.url, rabbitURL(b.rabbit.address), "nats://"+b.bus.address)
	if err := os.WriteFile(b.node.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	b.node.start(t)
	eventually.True(t, "consuming", b.consuming)
	return b
}

// givesAgain is the time after which the stream delivers an unacknowledged message again. A
// consumer created by bellman waits for 8 s.
const givesAgain = 2 * time.Second

// stream creates the stream and the consumer in advance.
func (b *brokers) stream(t testing.TB) {
	b.jetstream(t, func(ctx context.Context, js jetstream.JetStream) error {
		_, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "PAID", Subjects: []string{"paid.>"}, Retention: jetstream.WorkQueuePolicy})
		if err != nil {
			return err
		}
		_, err = js.CreateConsumer(ctx, "PAID", jetstream.ConsumerConfig{
			Durable: "bellman", AckPolicy: jetstream.AckExplicitPolicy, AckWait: givesAgain, MaxDeliver: -1, MaxAckPending: 50_000, FilterSubject: "paid.>",
		})
		return err
	})
}

func (b *brokers) jetstream(t testing.TB, do func(context.Context, jetstream.JetStream) error) {
	t.Helper()
	conn, err := nats.Connect("nats://"+b.bus.address, nats.Timeout(patient))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	if err := do(ctx, js); err != nil {
		t.Fatal(err)
	}
}

// atRabbit returns the number of messages in the queue that no consumer holds.
func (b *brokers) atRabbit(t testing.TB) int {
	t.Helper()
	conn, err := amqp.Dial(rabbitURL(b.rabbit.address))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	q, err := ch.QueueDeclarePassive("paid", true, false, false, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	return q.Messages
}

// atBus returns the number of messages that the consumer has not delivered or that are not
// acknowledged. The stream may have more. A killed NATS 2.9 finds messages again that it had
// deleted after their acknowledgement, and delivers them to nobody. After many kills it may count
// those for the consumer, too.
func (b *brokers) atBus(t testing.TB) (n int) {
	t.Helper()
	b.jetstream(t, func(ctx context.Context, js jetstream.JetStream) error {
		c, err := js.Consumer(ctx, "PAID", "bellman")
		if err == nil {
			n = int(c.CachedInfo().NumPending) + c.CachedInfo().NumAckPending
		}
		return err
	})
	return n
}

func (b *brokers) sources() []client.Source {
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	s, err := b.node.client.Sources(ctx)
	if err != nil {
		return nil
	}
	return s.Sources
}

func (b *brokers) consuming() bool {
	s := b.sources()
	return len(s) == 2 && s[0].State == "consuming" && s[1].State == "consuming"
}

// outage kills a machine and starts it again.
func (b *brokers) outage(t *testing.T, m *machine, sig syscall.Signal, length time.Duration) {
	over := b.journal.harmless(t, "kill -9 of "+m.name, all)
	m.crash(sig)
	wait(length)
	m.start(t)
	over()
}

// TestBrokers kills RabbitMQ, NATS, bellman and the connection to its database under load. Each
// message that a broker confirmed to its publisher is delivered as one task, even if the broker
// delivers it again. A task is only delivered twice if bellman or its database was in trouble.
func TestBrokers(t *testing.T) {
	if *long == 0 {
		t.Skip("takes minutes: RabbitMQ starts slowly, and slower after kill -9; make torture runs it")
	}
	t.Parallel()
	b := newBrokers(t)
	publishers := []*publisher{newRabbitPublisher(b.rabbit.address, "paid"), newBusPublisher(t, b.bus.address, "paid.order")}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var load sync.WaitGroup
	for _, p := range publishers {
		load.Go(func() { p.publish(ctx, 3*time.Millisecond) })
	}
	chance := dice(t)
	troubles := []func(length time.Duration){
		func(length time.Duration) { b.outage(t, b.rabbit, syscall.SIGKILL, length) },
		func(length time.Duration) { b.outage(t, b.bus, syscall.SIGKILL, length) },
		func(length time.Duration) {
			over := b.journal.begin(t, death, 0)
			b.node.kill()
			wait(length)
			b.node.start(t)
			over()
		},
		func(length time.Duration) { b.cut(t, refused, length) },
		func(length time.Duration) { b.cut(t, replyLost, length) },
		func(length time.Duration) { b.cut(t, notSent, length) },
	}
	for began := time.Now(); ; {
		for _, i := range chance.Perm(len(troubles)) {
			before := b.merchant.arrived()
			eventually.Within(5*time.Second, func() bool { return b.merchant.arrived() > before+20 })
			troubles[i](between(chance, 0, 300*time.Millisecond))
		}
		if time.Since(began) >= *long || t.Failed() {
			break
		}
	}
	for _, p := range publishers {
		eventually.True(t, "messages that are confirmed", func() bool { return p.count.Load() >= 50 })
	}
	stop()
	load.Wait()
	for _, p := range publishers {
		if !eventually.Within(eventually.Limit, func() bool { n, _ := b.merchant.missing(p.confirmed); return n == 0 }) {
			n, one := b.merchant.missing(p.confirmed)
			t.Errorf("%d of %d messages that %s confirmed did not arrive, such as %s; the brokers have %d and %d left", n, len(p.confirmed), p.name, one, b.atRabbit(t), b.atBus(t))
			for _, s := range b.sources() {
				t.Logf("%+v", s)
			}
		}
	}
	b.acknowledged(t)
	b.node.stop(t)
	b.repeats(t, publishers)
}

// acknowledged waits until the brokers have nothing left, and checks that there are no dead
// letters, because each message is a valid task.
func (b *brokers) acknowledged(t *testing.T) {
	t.Helper()
	for _, s := range b.sources() {
		if s.Dead > 0 {
			t.Errorf("%d messages of %s are dead letters; want none:\n%s", s.Dead, s.Name, b.node.process.said.tail(20))
		}
	}
	if eventually.Within(eventually.Limit, func() bool { return b.atRabbit(t) == 0 && b.atBus(t) == 0 }) {
		return
	}
	if n := b.atRabbit(t); n > 0 {
		t.Errorf("RabbitMQ has %d unacknowledged messages; want none", n)
	}
	if n := b.givenByBus(t); n > 0 {
		t.Errorf("NATS delivers %d messages again; want none", n)
	}
	for _, s := range b.sources() {
		t.Logf("%+v", s)
	}
}

// givenByBus returns the number of messages that the consumer delivers to another client.
func (b *brokers) givenByBus(t *testing.T) (n int) {
	t.Helper()
	b.jetstream(t, func(ctx context.Context, js jetstream.JetStream) error {
		c, err := js.Consumer(ctx, "PAID", "bellman")
		if err != nil {
			return err
		}
		given, err := c.Fetch(1000, jetstream.FetchMaxWait(2*givesAgain))
		if err != nil {
			return err
		}
		for m := range given.Messages() {
			n++
			if err := m.Nak(); err != nil {
				return err
			}
		}
		return given.Error()
	})
	return n
}

// cut makes a fault between the node and its database.
func (b *brokers) cut(t *testing.T, f fault, length time.Duration) {
	over := b.journal.begin(t, fmt.Sprintf("fault %d of the database's connection", f), 0)
	hits := b.proxy.hits()
	b.proxy.set(f, length)
	if f == refused {
		wait(length)
	} else {
		eventually.Within(5*time.Second, func() bool { return b.proxy.hits() > hits })
		wait(length)
	}
	b.proxy.set(pass, 0)
	over()
}

// repeats checks messages that were delivered more than once.
func (b *brokers) repeats(t *testing.T, publishers []*publisher) {
	b.merchant.mu.Lock()
	defer b.merchant.mu.Unlock()
	total, twice := 0, 0
	for body, list := range b.merchant.seen {
		total++
		for i, again := range list[1:] {
			twice++
			if again.task != list[0].task {
				t.Errorf("message %s arrived as task %s and as task %s; want one task", body, list[0].task, again.task)
			}
			if b.journal.hits(0, list[i].at, again.at) == nil {
				t.Errorf("message %s was delivered at %s and at %s, although neither bellman nor its database was in trouble", body, list[i].at.UTC().Format("15:04:05.000"), again.at.UTC().Format("15:04:05.000"))
			}
		}
	}
	t.Logf("%d and %d messages were confirmed, %d arrived, %d deliveries were repeated; %s", len(publishers[0].confirmed), len(publishers[1].confirmed), total, twice, b.journal.kinds())
}

// TestBrokersDurable cuts off the database in each way while messages are stored. Then it kills the
// node, so that only data on disk counts. Each message is in the database or still at its broker.
// At the end RabbitMQ is killed.
func TestBrokersDurable(t *testing.T) {
	t.Parallel()
	b := newBrokers(t)
	publishers := []*publisher{newRabbitPublisher(b.rabbit.address, "paid"), newBusPublisher(t, b.bus.address, "paid.order")}
	sent := 0
	send := func(n int) {
		for range n {
			sent++
			for _, p := range publishers {
				id := fmt.Sprintf("%s-%d", p.name, sent)
				body := fmt.Sprintf(`{"id":%q}`, id)
				ctx, cancel := context.WithTimeout(t.Context(), patient)
				if err := p.send(ctx, id, []byte(body)); err != nil {
					t.Fatal(err)
				}
				cancel()
				p.confirmed[body] = true
			}
		}
	}
	faults := []fault{blackHole, notSent}
	if *long > 0 {
		faults = append(faults, refused, replyLost)
	}
	for _, f := range faults {
		hits := b.proxy.hits()
		b.proxy.set(f, 100*time.Millisecond)
		send(50)
		switch f {
		case notSent, replyLost:
			eventually.True(t, "a COMMIT that is lost", func() bool { return b.proxy.hits() > hits })
			b.proxy.set(refused, 0) // the connection stays broken until the node dies
		default:
			// Wait for some messages, not for all: if the store does not answer for some seconds,
			// no more are taken.
			eventually.True(t, "messages in hand", func() bool { s := b.sources(); return len(s) == 2 && s[0].InHand > 0 && s[1].InHand > 0 })
			if n := b.atBus(t); n < 50 {
				t.Errorf("fault %d: the stream has %d messages; want all 50, because none is stored", f, n)
			}
		}
		b.node.kill()
		rabbits, buses := b.stored(t)
		if !eventually.Within(eventually.Limit, func() bool { return rabbits+b.atRabbit(t) >= sent && buses+b.atBus(t) >= sent }) {
			t.Fatalf("fault %d: of %d messages each the database has %d and %d, and the brokers %d and %d", f, sent, rabbits, buses, b.atRabbit(t), b.atBus(t))
		}
		b.proxy.set(pass, 0)
		b.node.start(t)
		for _, p := range publishers {
			if !eventually.Within(eventually.Limit, func() bool { n, _ := b.merchant.missing(p.confirmed); return n == 0 }) {
				n, one := b.merchant.missing(p.confirmed)
				t.Fatalf("fault %d: %d messages of %s did not arrive, such as %s", f, n, p.name, one)
			}
		}
		b.acknowledged(t)
	}
	b.killRabbit(t, publishers[0], send)
	b.node.stop(t)
	if rabbits, buses := b.stored(t); rabbits != sent || buses != sent {
		t.Errorf("%d and %d tasks were made from %d messages of each broker; want one for each", rabbits, buses, sent)
	}
}

// killRabbit kills RabbitMQ while the node holds messages from it. They are delivered again, and
// each is one task all the same.
func (b *brokers) killRabbit(t *testing.T, p *publisher, send func(n int)) {
	t.Helper()
	began := time.Now()
	b.proxy.set(blackHole, 0)
	send(50)
	eventually.True(t, "messages in hand", func() bool { s := b.sources(); return len(s) == 2 && s[0].InHand > 0 })
	b.rabbit.crash(syscall.SIGKILL)
	b.proxy.set(pass, 0)
	b.rabbit.start(t)
	eventually.True(t, "consuming again", b.consuming)
	if !eventually.Within(eventually.Limit, func() bool { n, _ := b.merchant.missing(p.confirmed); return n == 0 }) {
		n, one := b.merchant.missing(p.confirmed)
		t.Fatalf("after RabbitMQ was killed %d messages did not arrive, such as %s", n, one)
	}
	b.acknowledged(t)
	t.Logf("everything arrived %v after RabbitMQ was killed", time.Since(began).Round(time.Second))
}

// stored returns the number of tasks from the messages of each broker, read from the database.
func (b *brokers) stored(t *testing.T) (rabbits, buses int) {
	t.Helper()
	for _, task := range kept(t, postgresURL(b.database.address)) {
		if strings.HasPrefix(task.Key, "rabbitmq-") {
			rabbits++
		} else {
			buses++
		}
	}
	return rabbits, buses
}
