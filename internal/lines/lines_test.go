package lines_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/internal/lines"
)

// What is wrong with a line says which field, and what would be right.
func TestWhatIsWrongWithALine(t *testing.T) {
	tests := []struct{ text, want string }{
		{`{"merchant_no":"M1"}`, ""},
		{`{}`, ""},
		{`{"merchant_no":7}`, `merchant_no: has a number: want text in quotes, such as "M1001"`},
		{`{"name":["a"]}`, `name: has a list: want text in quotes, such as "M1001"`},
		{`{"sign":"md5"}`, `sign: has text: want an object, such as {"…": …}`},
		{`{"sign":{"secrets":"k"}}`, `sign.secrets: has text: want a list of texts, such as ["…"]`},
		{`{"per_endpoint":{"concurrency":true}}`, `per_endpoint.concurrency: has true or false: want a whole number without quotes, such as 16`},
		{`{"per_endpoint":{"concurrency":1.5}}`, `per_endpoint.concurrency: has a number: want a whole number without quotes, such as 16`},
		{`{"name":{}}`, `name: has an object: want text in quotes, such as "M1001"`},
		{`{"notfy_url":"u"}`, `unknown field "notfy_url": mend its name, or leave it out`},
		{`{"name":"a","Name":"b"}`, `Name: is given twice: give it once`},
		{`{"sign":{"serial":"a","serial":"a"}}`, `sign.serial: is given twice: give it once`},
		{`{} {}`, `has text behind its JSON: want one merchant a line`},
		{`{}} {"merchant_no":"M2"}`, `has text behind its JSON: want one merchant a line`},
		{`{}]`, `has text behind its JSON: want one merchant a line`},
		{`{`, `is no JSON object: unexpected EOF`},
		{`[]`, `is no JSON object: json: cannot unmarshal array into Go value of type client.PutMerchant`},
		{"{\"name\":\"\xd5\xc5\"}", "is not UTF-8"}, // GBK
	}
	for _, tt := range tests {
		for l, err := range lines.Merchants.Read(strings.NewReader(tt.text)) {
			said := ""
			if l.Wrong != nil {
				said = l.Wrong.Error()
			}
			if err != nil || said != tt.want {
				t.Errorf("%q is said to be %q, %v; want %q", tt.text, said, err, tt.want)
			}
		}
	}
}

// Lines are counted as an editor does. Of several lines about one merchant, the first that can be
// read is imported.
func TestRead(t *testing.T) {
	file := "\ufeff{\"merchant_no\":\"A\"}\r\n\r\n{\"merchant_no\":\"B\",\"name\":1}\n{\"merchant_no\":\"B\"}\n{\"merchant_no\":\"A\"}\n{}\n{}\n" +
		strings.Repeat(" ", 8<<20) + "\n{\"merchant_no\":\"C\"}"
	at := []int{}
	for l, err := range lines.Merchants.Read(strings.NewReader(file)) {
		if err != nil {
			if err.Error() != "line 8: is longer than 8 MiB: want one merchant a line" {
				t.Errorf("a line that is too long: %v; want line 8 named", err)
			}
			continue
		}
		at = append(at, l.N)
		var again *lines.AgainError
		switch is := errors.As(l.Wrong, &again); {
		case is != (l.N == 5), is && *again != lines.AgainError{Field: "merchant_no", ID: "A", First: 1}:
			t.Errorf("line %d: %v; want only line 5 refused as line 1 again", l.N, l.Wrong)
		case (l.Wrong != nil) != (l.N == 3 || l.N == 5):
			t.Errorf("line %d: %v; want lines 3 and 5 refused", l.N, l.Wrong)
		}
	}
	if len(at) != 6 || at[0] != 1 || at[1] != 3 || at[5] != 7 {
		t.Errorf("lines %v were read; want 1 and 3 to 7", at)
	}
}
