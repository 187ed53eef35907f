package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman/deliver/sign"
)

// Restarts returns the names of the settings that differ between c and other and need a restart: all except
// queues, alarms, keys and the pool.
func (c *Config) Restarts(other *Config) []string {
	var names []string
	for _, setting := range []struct {
		name string
		same bool
	}{
		{"listen", c.Listen == other.Listen},
		{"store", c.Store == other.Store},
		{"advertise", c.Advertise == other.Advertise},
		{"node", c.Node == other.Node},
		{"trusted_proxies", slices.Equal(c.TrustedProxies, other.TrustedProxies)},
		{"public_url", c.PublicURL == other.PublicURL},
		{"console.name", c.Console.Name == other.Console.Name},
		{"console.colour", c.Console.Colour == other.Console.Colour},
		{"notices.listen", c.Notices.Listen == other.Notices.Listen},
		{"notices.public_url", c.Notices.PublicURL == other.Notices.PublicURL},
		{"log_level", c.LogLevel == other.LogLevel},
		{"stop_timeout", c.StopTimeout == other.StopTimeout},
		{"master_key", c.MasterKey.Equal(other.MasterKey)},
		{"master_keys", slices.EqualFunc(c.MasterKeys, other.MasterKeys, sign.Secret.Equal)},
		{"connections", slices.Equal(texts(c.Connections), texts(other.Connections))},
		{"sources", reflect.DeepEqual(c.Sources, other.Sources)},
		{"tracing.endpoint", c.Tracing.Endpoint == other.Tracing.Endpoint},
		{"tracing.headers", maps.EqualFunc(c.Tracing.Headers, other.Tracing.Headers, sign.Secret.Equal)},
		{"tracing.sample", c.Tracing.Sample == other.Tracing.Sample},
		{"tracing.service", c.Tracing.Service == other.Tracing.Service},
		{"tracing.attributes", maps.Equal(c.Tracing.Attributes, other.Tracing.Attributes)},
		{"http.connections", c.HTTP.Connections == other.HTTP.Connections},
		{"http.per_address", c.HTTP.PerAddress == other.HTTP.PerAddress},
		{"flow.high", c.Flow.High == other.Flow.High},
		{"flow.low", c.Flow.Low == other.Flow.Low},
		{"flow.heap", c.Flow.Heap == other.Flow.Heap},
		{"retention.succeeded", c.Retention.Succeeded == other.Retention.Succeeded},
		{"retention.failed", c.Retention.Failed == other.Retention.Failed},
		{"retention.cancelled", c.Retention.Cancelled == other.Retention.Cancelled},
		{"egress.allow_private", c.Egress.AllowPrivate == other.Egress.AllowPrivate},
		{"egress.allow", slices.Equal(c.Egress.Allow, other.Egress.Allow)},
		{"egress.deny", slices.Equal(c.Egress.Deny, other.Egress.Deny)},
		{"egress.https_only", c.Egress.HTTPSOnly == other.Egress.HTTPSOnly},
		{"egress.proxy", c.Egress.Proxy == other.Egress.Proxy},
	} {
		if !setting.same {
			names = append(names, setting.name)
		}
	}
	return names
}

// texts returns connections as texts for comparison. They contain passwords: never show them.
func texts(connections []Connection) []string {
	all := make([]string, len(connections))
	for i, c := range connections {
		_, text, err := c.Resolve()
		if err != nil {
			text = c.String()
		}
		all[i] = strings.Join([]string{c.Name, text, c.CA, c.Credentials}, " ")
	}
	return all
}
