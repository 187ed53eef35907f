package bench

import (
	"strings"
	"time"
)

// bodyBytes is the size of a task's body. The numbers of load and task stand at fixed places, so
// that the receiver need not parse the body.
const bodyBytes = 300

const (
	loadAt  = len(`{"load":"`)
	loadEnd = loadAt + 4
	taskAt  = loadEnd + len(`","task":"`)
	taskEnd = taskAt + 8
)

var bodyTemplate = func() string {
	const begin = `{"load":"0000","task":"00000000","order_no":"20261120000001","state":"SUCCESS","amount":1250,"note":"`
	return begin + strings.Repeat("x", bodyBytes-len(begin)-len(`"}`)) + `"}`
}()

// appendBody appends the body of a task.
func appendBody(b []byte, load, task int) []byte {
	start := len(b)
	b = append(b, bodyTemplate...)
	digits(b[start+loadAt:start+loadEnd], load)
	digits(b[start+taskAt:start+taskEnd], task)
	return b
}

// readBody reads which task a body belongs to.
func readBody(b []byte) (load, task int, ok bool) {
	if len(b) != bodyBytes {
		return 0, 0, false
	}
	load, ok = number10(b[loadAt:loadEnd])
	if !ok {
		return 0, 0, false
	}
	task, ok = number10(b[taskAt:taskEnd])
	return load, task, ok
}

// digits writes n into all of b.
func digits(b []byte, n int) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = byte('0' + n%10)
		n /= 10
	}
}

func number10(b []byte) (n int, ok bool) {
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// A plan describes what to create: the task with index i of a load goes to an address.
type plan struct {
	tasks int
	item  func(i int) (l *load, task int, url string) // for i from 0 to tasks−1
	due   time.Time                                   // of all tasks, if their load has no due times; zero: now
}

// to returns a plan that sends all tasks of a load to one address.
func to(l *load, url string) plan {
	return plan{tasks: len(l.at), item: func(i int) (*load, int, string) { return l, i, url }}
}

// appendCreate appends the JSON request for task i. It resembles that of a payment platform: with a
// key, and of one of a thousand merchants.
func (p *plan) appendCreate(b []byte, i int) []byte {
	l, task, url := p.item(i)
	var merchant, order [12]byte
	digits(merchant[:4], task*7919%1000)
	digits(order[:4], l.id)
	digits(order[4:], task)
	b = append(b, `{"queue":"default","key":"M`...)
	b = append(b, merchant[:4]...)
	b = append(b, '/')
	b = append(b, order[:]...)
	b = append(b, `/paid","merchant_no":"M`...)
	b = append(b, merchant[:4]...)
	b = append(b, `","order_no":"`...)
	b = append(b, order[:]...)
	b = append(b, `","event":"payment.succeeded","url":"`...)
	b = append(b, url...)
	b = append(b, `","json":`...)
	b = appendBody(b, l.id, task)
	due := p.due
	if l.due != nil {
		due = time.UnixMilli(l.due[task])
	}
	if !due.IsZero() {
		b = append(b, `,"due":"`...)
		b = due.UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
		b = append(b, '"')
	}
	return append(b, '}')
}

// newLoad makes the next load. When the scenario ends, all of its tasks must have arrived, once and
// not early.
func (r *run) newLoad(tasks int) *load {
	l := newLoad(r.nextLoad(), tasks)
	r.loads = append(r.loads, l)
	r.receiver.begin(l)
	return l
}

// never returns a plan of tasks that must not arrive.
func (r *run) never(tasks int) plan {
	l := newLoad(r.nextLoad(), 0)
	return plan{tasks: tasks, due: time.Now().Add(24 * time.Hour),
		item: func(i int) (*load, int, string) { return l, i, r.url }}
}

func (r *run) nextLoad() int {
	r.lastLoad++
	return r.lastLoad
}
