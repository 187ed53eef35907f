package poll

import (
	"reflect"
	"testing"
)

// Every Ask and Life that is read survives a round trip.
func FuzzAsk(f *testing.F) {
	for _, seed := range []string{``, `{}`, `{"ref_no":"R1","account":"a","vars":{"amount":"1"},"notify":{"url":"https://x","json":{"a":1}},"created":"2026-11-20T15:00:00Z"}`,
		`{"notify":{"json":null}}`, `[]`, `null`, `{"vars":{"":"1"}}`, `{"ref_no":"1"} 2`, `{"created":"0000-01-01T00:00:00Z"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		a, err := ParseAsk(body)
		if err != nil {
			return
		}
		text, err := a.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseAsk(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if twice, _ := again.Encode(); string(twice) != string(text) {
			t.Errorf("%s became %s", text, twice)
		}
	})
}

func FuzzLife(f *testing.F) {
	for _, seed := range []string{``, `{}`, `{"stage":"requesting","poll_state":"PENDING","requests":1,"first_at":1,"request_at":2}`,
		`{"stage":"decided","poll_state":"DONE","decided_at":5,"taken":{"a":1},"alerts":["refused"]}`, `{"stage":"decided","poll_state":"PENDING"}`,
		`{"stage":"requesting","poll_state":"PENDING"}`, `{"polls":-1}`, `{"taken":[]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ParseLife(data)
		if err != nil {
			return
		}
		again, err := ParseLife(l.encode())
		if err != nil {
			t.Fatalf("%s: %v", l.encode(), err)
		}
		if len(l.Alerts) == 0 {
			l.Alerts = nil
		}
		if again.Taken, l.Taken = nil, nil; !reflect.DeepEqual(again, l) { // the text of what was taken may be compacted
			t.Errorf("%+v became %+v", l, again)
		}
	})
}
