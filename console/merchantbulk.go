package console

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
)

const (
	importPath  = "/merchants/import"
	maxImport   = 8 << 20 // bytes of a file that is imported
	importLines = 1000    // of it
)

// An importView is the form that imports merchants, and what came of it.
type importView struct {
	*view
	Dry     bool
	Reason  string
	Wrong   string
	Results []importedRow
	Sums    importSums
}

// An importedRow is what became of one line.
type importedRow struct {
	Line       int
	MerchantNo string
	What       string // created, changed, same, refused
	Problem    string
}

type importSums struct{ Created, Changed, Same, Refused int }

func (q *request) importPage() {
	q.render(http.StatusOK, "merchantimport", &importView{view: q.view("page.import"), Dry: true})
}

// importMerchants imports the merchants of a file, one a line.
func (q *request) importMerchants() {
	v := &importView{view: q.view("page.import"), Dry: q.r.PostForm.Get("dry") != "", Reason: strings.TrimSpace(q.r.PostForm.Get("reason"))}
	rows, all, err := q.uploaded()
	var results []ImportedMerchant
	switch {
	case err != nil:
	case !reasoned(v.Reason):
		err = errReason
	case len(all) > 0:
		results, err = q.merchants.Import(q.r.Context(), all, v.Dry, q.by(v.Reason))
	}
	status := http.StatusOK
	if err != nil {
		status, v.Wrong = q.wrong(err)
		rows = nil
	}
	for i := range rows {
		row := &rows[i]
		if row.What == "refused" {
			v.Sums.Refused++
			continue
		}
		r := results[0]
		results = results[1:]
		switch {
		case r.Err != nil:
			row.What, row.Problem = "refused", q.visitor.lang.problem(r.Err)
			if invalid := (*bellman.Invalid)(nil); errors.As(r.Err, &invalid) { // of the fields that the file has
				said := &bellman.Invalid{}
				for i := range invalid.Fields {
					said.Add(invalid.Fields[i].Field, q.visitor.lang.field(&invalid.Fields[i]))
				}
				row.Problem = said.Error()
			}
			v.Sums.Refused++
		case r.Created:
			row.What = "created"
			v.Sums.Created++
		case r.Changed:
			row.What = "changed"
			v.Sums.Changed++
		default:
			row.What = "same"
			v.Sums.Same++
		}
	}
	v.Results = rows
	q.render(status, "merchantimport", v)
}

// uploaded reads the file that came with a form: a row for each line that has
// something, and the merchants of those that are not refused already, in order.
func (q *request) uploaded() (rows []importedRow, all []client.PutMerchant, err error) {
	if q.r.MultipartForm == nil || len(q.r.MultipartForm.File["file"]) == 0 {
		return nil, nil, errFile
	}
	file, err := q.r.MultipartForm.File["file"][0].Open()
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	say := q.visitor.lang.say
	first := map[string]int{} // the line of each merchant
	lines := bufio.NewReader(file)
	for n := 1; ; n++ {
		line, err := lines.ReadString('\n')
		if text := strings.TrimSpace(line); text != "" {
			if len(rows) == importLines {
				return nil, nil, errManyLines
			}
			if len(rows) == 0 {
				text = strings.TrimPrefix(text, "\ufeff") // as some editors begin a file
			}
			row := importedRow{Line: n}
			in, problem := parseMerchant(text)
			row.MerchantNo = in.MerchantNo
			switch at := first[in.MerchantNo]; {
			case problem != nil:
				row.What, row.Problem = "refused", q.visitor.lang.unread(problem)
			case at > 0 && in.MerchantNo != "":
				row.What, row.Problem = "refused", say("import.twice", "n", at)
			default:
				first[in.MerchantNo] = n
				all = append(all, in)
			}
			rows = append(rows, row)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if len(rows) == 0 {
		return nil, nil, errNoLines
	}
	return rows, all, nil
}

// unread says why a line is no merchant.
func (l *language) unread(why error) string {
	if errors.Is(why, errNotUTF8) {
		return l.say(string(errNotUTF8))
	}
	if e := (*json.UnmarshalTypeError)(nil); errors.As(why, &e) && e.Field != "" {
		got, _, _ := strings.Cut(e.Value, " ")
		return l.say("import.wrong_type", "name", e.Field, "got", l.named("import.got", got), "want", l.named("import.want", e.Type.Kind()))
	}
	if e := twiceError(""); errors.As(why, &e) {
		return l.say("import.field_twice", "name", string(e))
	}
	if name, is := strings.CutPrefix(why.Error(), "json: unknown field "); is {
		return l.say("import.unknown", "name", name)
	}
	return l.say("import.not_json")
}

// parseMerchant reads one line.
func parseMerchant(text string) (in client.PutMerchant, err error) {
	if !utf8.ValidString(text) { // a decoder would replace what is not
		return in, errNotUTF8
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err = d.Decode(&in); err == nil && d.More() {
		err = errors.New("there is text behind it")
	}
	if err == nil {
		err = once(json.NewDecoder(strings.NewReader(text)), "")
	}
	return in, err
}

// A twiceError names a field that an object has twice, of which a decoder takes the last.
type twiceError string

func (e twiceError) Error() string { return string(e) + " is given twice" }

// once reads a value, and returns a [twiceError] if an object in it has a field twice. In
// upper and lower case a field is the same.
func once(d *json.Decoder, path string) error {
	begin, err := d.Token()
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for begin == json.Delim('{') || begin == json.Delim('[') {
		if !d.More() {
			_, err = d.Token()
			return err
		}
		at := path
		if begin == json.Delim('{') {
			token, err := d.Token()
			if err != nil {
				return err
			}
			name, _ := token.(string) // as all names are
			at += name
			if folded := strings.ToLower(name); seen[folded] {
				return twiceError(at)
			} else {
				seen[folded] = true
			}
			at += "."
		}
		if err := once(d, at); err != nil {
			return err
		}
	}
	return nil
}

// exportMerchants writes all merchants as an import takes them back, with their
// secrets sealed: only a server with the same master key opens them.
func (q *request) exportMerchants() {
	h := q.w.Header()
	control := http.NewResponseController(q.w)
	begun := false
	out := json.NewEncoder(q.w)
	out.SetEscapeHTML(false)
	for after := ""; ; {
		page, next, err := q.merchants.List(q.r.Context(), client.MerchantSearch{Sealed: true, Limit: 200}, after)
		if err != nil {
			if !begun {
				q.refuse(err)
				return
			}
			q.log.Warn("console: an export of merchants was cut off", "err", err)
			panic(http.ErrAbortHandler) // so that nobody takes it for whole
		}
		if !begun {
			begun = true
			h.Set("Content-Type", "application/x-ndjson; charset=utf-8")
			h.Set("Content-Disposition", `attachment; filename="bellman-merchants.ndjson"`)
		}
		for i := range page {
			if out.Encode(putOf(&page[i])) != nil {
				return // whoever is gone needs no answer
			}
		}
		if next == "" {
			return
		}
		after = next
		control.Flush()
		control.SetWriteDeadline(time.Now().Add(exportStep)) // where it is not supported, the reader's leaving ends it
	}
}
