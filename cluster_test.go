package bellman_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/bellmanhq/bellman"
)

// What several hints say, one joined hint says.
func TestHintJoin(t *testing.T) {
	tests := []struct {
		name       string
		a, b, want bellman.Hint
	}{
		{"nothing", bellman.Hint{From: "n"}, bellman.Hint{From: "n"}, bellman.Hint{From: "n"}},
		{"the same shards once, in order", bellman.Hint{Released: []uint16{7, 3}}, bellman.Hint{Released: []uint16{3, 5}}, bellman.Hint{Released: []uint16{3, 5, 7}}},
		{"both times", bellman.Hint{Added: []uint16{1}, Since: 5, Until: 9}, bellman.Hint{Added: []uint16{2}, Since: 7, Until: 12},
			bellman.Hint{Added: []uint16{1, 2}, Since: 5, Until: 12}},
		{"times of the one that has any", bellman.Hint{Added: []uint16{1}, Since: 5, Until: 9}, bellman.Hint{Docs: []string{"pause"}},
			bellman.Hint{Added: []uint16{1}, Since: 5, Until: 9, Docs: []string{"pause"}}},
		{"what changed", bellman.Hint{Changed: []bellman.ID{{1}}}, bellman.Hint{Changed: []bellman.ID{{2}}}, bellman.Hint{Changed: []bellman.ID{{1}, {2}}}},
		{"leaving stays", bellman.Hint{Leaving: true}, bellman.Hint{}, bellman.Hint{Leaving: true}},
	}
	for _, tt := range tests {
		if got := tt.a.Join(tt.b); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v; want %+v", tt.name, got, tt.want)
		}
	}
}

// Nodes of different versions send each other this.
func TestHintJSON(t *testing.T) {
	h := bellman.Hint{From: "n", Leaving: true, Released: []uint16{1}, Added: []uint16{2}, Since: 3, Until: 4, Docs: []string{"pause"}}
	text, err := json.Marshal(h)
	const want = `{"from":"n","leaving":true,"released":[1],"added":[2],"since_ms":3,"until_ms":4,"docs":["pause"]}`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v; want %s", text, err, want)
	}
	var back bellman.Hint
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, h) {
		t.Errorf("%+v, %v; want %+v", back, err, h)
	}
}
