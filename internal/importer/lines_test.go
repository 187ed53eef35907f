package importer_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/internal/importer"
)

func TestLines(t *testing.T) {
	const csv = "\ufeffkey,merchant_no,url,json,attempts,last,header.X-A,due\r\n" +
		"a,M1,http://m/n,\"{\"\"x\"\": 1}\",2,2026-11-20T15:04:05+08:00,yes,\r\n" +
		",M2,http://m/n,,0,,,2026-11-21T00:00:00Z\n" +
		"\"b\nc\",M3,http://m/n,,,,,\n" +
		"d,M4\n" +
		"e,M5,http://m/n,{,,,,\n" +
		"f,M6,http://m/n,,x,,,\n" +
		"g,M7,http://m/n,,1,yesterday,,\n" +
		"h,M8,http://m/n,,1,,,\n" +
		"i,M9,http://m/n,,0,2026-11-20T15:04:05Z,,\n" +
		"j,M9,http://m/n,,-1,2026-11-20T15:04:05Z,,\n" +
		"k,\xc9\xcc\xbb\xa7,http://m/n,,,,,\n" + // GBK
		"l,M9,http://m/n,\"{\"\"x\"\":\"\"\xc9\xcc\"\"}\",,,,\n"
	const ndjson = "\ufeff" + `{"key":"a","queue":"own","url":"http://m/n","resume":{"attempts":2,"last":"2026-11-20T15:04:05Z"}}

{"url":"http://m/n","json":{"x":1}}
{"url":"http://m/n","json":{"x":1}}
{"url":1}
{"address":"http://m/n"}
{"key":"b"} {"key":"c"}
{"key":"c","url":"http://m/n","body":"` + "\xc9\xcc" + `"}
{"key":"last"}`
	fromCSV, err := importer.CSV(strings.NewReader(csv), "q")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		source importer.Source
		want   string
	}{
		{"csv", fromCSV, `line 2: {"queue":"q","key":"a","merchant_no":"M1","url":"http://m/n","headers":{"X-A":"yes"},"json":{"x":1},"resume":{"attempts":2,"last":"2026-11-20T07:04:05.000Z"}}
line 3: {"queue":"q","key":"import/d5460aea15080762f2bbe2470af1b1c8","merchant_no":"M2","url":"http://m/n","due":"2026-11-21T00:00:00.000Z"}
line 4: {"queue":"q","key":"b\nc","merchant_no":"M3","url":"http://m/n"}
line 6: wrong: has 2 values for 8 columns
line 7: wrong: json: is not JSON
line 8: wrong: attempts: want how many were made, 0 or more
line 9: wrong: last: want a time such as 2026-11-20T15:04:05Z
line 10: wrong: last: is missing after 1 attempts: want when the last of them began, such as 2026-11-20T15:04:05Z
line 11: wrong: attempts: is missing, or 0, and last or began is given: want how many were made, or neither of them
line 12: wrong: attempts: want how many were made, 0 or more
line 13: wrong: merchant_no: is not UTF-8: save the file as UTF-8, and import it again
line 14: wrong: json: is not UTF-8: save the file as UTF-8, and import it again`},
		{"ndjson", importer.NDJSON(strings.NewReader(ndjson), "q"), `line 1: {"queue":"own","key":"a","url":"http://m/n","resume":{"attempts":2,"last":"2026-11-20T15:04:05.000Z"}}
line 2: skip: is empty
line 3: {"queue":"q","key":"import/c8d20f8da55a75820e58706bf3124713","url":"http://m/n","json":{"x":1}}
line 4: {"queue":"q","key":"import/c8d20f8da55a75820e58706bf3124713","url":"http://m/n","json":{"x":1}}
line 5: wrong: url: has a number: want text in quotes, such as "M1001"
line 6: wrong: unknown field "address": mend its name, or leave it out
line 7: wrong: has more than one JSON value: want one task a line
line 8: wrong: is not UTF-8: save the file as UTF-8, and import it again
line 9: {"queue":"q","key":"last"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, r := range all(t, tt.source, nil) {
				switch {
				case r.Wrong != nil:
					got = append(got, fmt.Sprintf("%s: wrong: %v", r.Where, r.Wrong))
				case r.Skip != "":
					got = append(got, fmt.Sprintf("%s: skip: %s", r.Where, r.Skip))
				default:
					b, err := json.Marshal(r.Task)
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, fmt.Sprintf("%s: %s", r.Where, b))
				}
			}
			if text := strings.Join(got, "\n"); text != tt.want {
				t.Errorf("rows\n%s\nwant\n%s", text, tt.want)
			}
		})
	}
}

// A field that a line has twice is refused, as by POST /v1/tasks. What the merchant gets is its own
// affair.
func TestFieldTwice(t *testing.T) {
	const text = `{"url":"http://a/","url":"http://b/"}
{"amount":1,"Amount":2}
{"url":"http://a/","json":{"id":1,"id":2},"vars":{"a":"1","A":"2"}}
`
	want := []string{"url: is given twice: give it once", "Amount: is given twice: give it once", "<nil>"}
	for i, r := range all(t, importer.NDJSON(strings.NewReader(text), "q"), nil) {
		if got := fmt.Sprint(r.Wrong); got != want[i] {
			t.Errorf("%s: %s; want %s", r.Where, got, want[i])
		}
	}
}

func TestCSVInvalid(t *testing.T) {
	for text, want := range map[string]string{
		"":              "line 1: want the columns' names",
		"key,address":   `line 1: column "address" is unknown: want attempts, began, body,`,
		"key,url,key\n": `line 1: column "key" is there twice`,
	} {
		if _, err := importer.CSV(strings.NewReader(text), "q"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("CSV(%q): %v; want %s", text, err, want)
		}
	}
}

// For every input, each line is at most one row, and reading ends.
func FuzzLines(f *testing.F) {
	f.Add("key,url\na,http://m/n\n")
	f.Add("{\"key\":\"a\"}\n\n{\"url\":1}")
	f.Add("\"\n\r\n,")
	f.Fuzz(func(t *testing.T, text string) {
		sources := []importer.Source{importer.NDJSON(strings.NewReader(text), "q")}
		if s, err := importer.CSV(strings.NewReader(text), "q"); err == nil {
			sources = append(sources, s)
		}
		for _, s := range sources {
			n := 0
			for {
				rows, err := s.Next(t.Context(), 10)
				if err != nil || len(rows) == 0 {
					break
				}
				for _, r := range rows {
					if n++; n > len(text)+1 {
						t.Fatalf("%q has more than %d rows; want at most one for each line", text, len(text)+1)
					}
					if r.Wrong == nil && r.Skip == "" && (r.Task.Queue == "" || r.Task.Key == "") {
						t.Errorf("%s of %q: %+v; want a queue and a key", r.Where, text, r.Task)
					}
				}
			}
		}
	})
}
