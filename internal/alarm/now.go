package alarm

import (
	"time"

	"github.com/bellmanhq/bellman/engine/figures"
)

// usual are the rules by which pages and lists judge a condition that no rule of the configuration
// is about. They raise no alarm.
func usual() []Rule {
	return []Rule{
		{When: Overdue, Above: time.Minute.Seconds()},
		{When: TasksFailed},
		{When: OrdersUnknown},
		{When: StoreSlow, Above: time.Second.Seconds()},
	}
}

// Above returns the threshold of a condition for the tasks of a queue: the lowest of the rules that
// cover the queue, or else the usual one. An empty queue stands for all queues together.
func Above(rules []Rule, when, queue string) float64 {
	for _, from := range [][]Rule{rules, usual()} {
		above, found := 0.0, false
		for i := range from {
			r := &from[i]
			if r.When == when && (r.Queue == "" || r.Queue == queue) && (!found || r.Above < above) {
				above, found = r.Above, true
			}
		}
		if found {
			return above
		}
	}
	return 0
}

// Failing returns the endpoints for which [EndpointFailing] holds, by name.
func Failing(f *figures.Figures) map[string]bool {
	names := map[string]bool{}
	for name, is := range failing(f) {
		if is.standing == holds {
			names[name] = true
		}
	}
	return names
}

// Expiring returns the credentials about which [CredentialExpires] holds, and for each the time
// before its end that has begun.
func Expiring(credentials []Credential, now time.Time) (all []Credential, within []time.Duration) {
	for _, is := range expiring(&Rule{When: CredentialExpires}, credentials, now) {
		if is.standing == holds {
			all, within = append(all, *is.credential), append(within, is.within)
		}
	}
	return all, within
}
