package alarm

import (
	"strconv"
	"time"
)

// A Credential is a certificate or key that expires.
type Credential struct {
	// Name says what expires, as the place in the configuration: keys.NAME, or
	// queues.NAME.channel.certificate. It is unique.
	Name    string
	Queue   string // that needs it; empty: it belongs to no queue
	Expires time.Time
}

const day = 24 * time.Hour

// before are the times before the end of a credential at which alarms are raised, the longest
// first.
var before = []time.Duration{30 * day, 7 * day, day}

// expiring reads the credentials. Of the times that have begun only the shortest raises an alarm.
// The alarms of the longer ones stay as they are, until the credential is replaced.
func expiring(r *Rule, credentials []Credential, now time.Time) map[string]reading {
	readings := map[string]reading{}
	for i := range credentials {
		c := &credentials[i]
		if r.Queue != "" && c.Queue != r.Queue {
			continue
		}
		left := c.Expires.Sub(now)
		for k, within := range before {
			if left > within {
				break // those that are raised end: they are not among the readings
			}
			is := reading{value: left.Seconds(), credential: c, within: within}
			if k+1 == len(before) || left > before[k+1] {
				is.standing = holds
			}
			readings[named(c.Name, within)] = is
		}
	}
	return readings
}

// named returns the subject of the alarm that is raised within that time before the end of a
// credential.
func named(credential string, within time.Duration) string {
	return credential + "/" + strconv.Itoa(int(within/day))
}

// subject returns the endpoint or credential that an alarm is about.
func (a *Alarm) subject() string {
	if a.Credential == "" {
		return a.Endpoint
	}
	return named(a.Credential, time.Duration(a.Above*float64(time.Second)))
}
