package bellman_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
)

// A joined hint has everything that its parts have.
func TestHintJoin(t *testing.T) {
	tests := []struct {
		name       string
		a, b, want engine.Hint
	}{
		{"nothing", engine.Hint{From: "n"}, engine.Hint{From: "n"}, engine.Hint{From: "n"}},
		{"the same shards once, in order", engine.Hint{Released: []uint16{7, 3}}, engine.Hint{Released: []uint16{3, 5}}, engine.Hint{Released: []uint16{3, 5, 7}}},
		{"both times", engine.Hint{Added: []uint16{1}, Since: 5, Until: 9}, engine.Hint{Added: []uint16{2}, Since: 7, Until: 12},
			engine.Hint{Added: []uint16{1, 2}, Since: 5, Until: 12}},
		{"times of the one that has any", engine.Hint{Added: []uint16{1}, Since: 5, Until: 9}, engine.Hint{Docs: []string{"pause"}},
			engine.Hint{Added: []uint16{1}, Since: 5, Until: 9, Docs: []string{"pause"}}},
		{"what changed", engine.Hint{Changed: []bellman.ID{{1}}}, engine.Hint{Changed: []bellman.ID{{2}}}, engine.Hint{Changed: []bellman.ID{{1}, {2}}}},
		{"leaving stays", engine.Hint{Leaving: true}, engine.Hint{}, engine.Hint{Leaving: true}},
	}
	for _, tt := range tests {
		if got := tt.a.Join(tt.b); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v; want %+v", tt.name, got, tt.want)
		}
	}
}

// Nodes of different versions send each other hints as JSON.
func TestHintJSON(t *testing.T) {
	h := engine.Hint{From: "n", Leaving: true, Released: []uint16{1}, Added: []uint16{2}, Since: 3, Until: 4, Docs: []string{"pause"}}
	text, err := json.Marshal(h)
	const want = `{"from":"n","leaving":true,"released":[1],"added":[2],"since_ms":3,"until_ms":4,"docs":["pause"]}`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v; want %s", text, err, want)
	}
	var back engine.Hint
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, h) {
		t.Errorf("%+v, %v; want %+v", back, err, h)
	}
}
