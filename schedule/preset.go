package schedule

import (
	"slices"

	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/internal/nearest"
)

// A Kind is the purpose of a preset.
type Kind string

// The kinds of presets.
const (
	Notify Kind = "notify" // notifying a merchant until the merchant accepts
	Poll   Kind = "poll"   // querying a channel until an order is decided
	Close  Kind = "close"  // closing an order that nobody paid
)

// A Preset is a schedule with a name. [Parse] accepts the name in place of a text.
type Preset struct {
	Name string
	Kind Kind
	Text string // what Parse reads

	// OnExhausted is what the source does if an order is not decided when the schedule ends, in the
	// words of a queue's on_exhausted: close, reverse or alert. Empty: the source says nothing, or
	// the kind is Notify.
	OnExhausted string

	Source string // where the figures were published, and how reliable that is
	Note   string // what a user must know, and which part is bellman's own choice
}

// Presets returns all presets: notify, poll, close, each kind in a fixed order.
func Presets() []Preset { return slices.Clone(presets) }

func presetNamed(name string) (Preset, error) {
	for _, p := range presets {
		if p.Name == name {
			return p, nil
		}
	}
	names := make([]string, len(presets))
	for i, p := range presets {
		names[i] = p.Name
	}
	if near := nearest.Of(name, 3, names...); near != "" {
		return Preset{}, coded.Errorf("schedule.preset_near", "no preset is called %.40q: want %s, or delays such as 0s, 15s*2, 30s", name, near)
	}
	return Preset{}, coded.Errorf("schedule.preset", "no preset is called %.40q: want a preset's name such as %s, or delays such as 0s, 15s*2, 30s",
		name, presets[0].Name)
}
