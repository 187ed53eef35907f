package config

import (
	"reflect"
	"slices"
	"strings"
)

// live are the settings that a running server takes over when it reloads its configuration.
var live = []string{"queues", "alarms", "keys", "pool.floor", "pool.ceiling"}

// Restarts returns the names of the settings that differ between c and other and need a restart:
// all except queues, alarms, keys and the pool.
func (c *Config) Restarts(other *Config) (names []string) {
	for _, f := range configFields {
		if !slices.Contains(live, f.name) && !reflect.DeepEqual(c.value(f.name), other.value(f.name)) {
			names = append(names, f.name)
		}
	}
	return names
}

// value returns the value of a setting, which the field of the same name has: flow.high is
// Flow.High.
func (c *Config) value(setting string) any {
	v := reflect.ValueOf(c).Elem()
	for part := range strings.SplitSeq(setting, ".") {
		part = strings.ReplaceAll(part, "_", "")
		v = v.FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, part) })
	}
	if v.Kind() == reflect.Map && v.Len() == 0 {
		return nil // {} is the same as nothing
	}
	return v.Interface()
}
