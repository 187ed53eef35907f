package console

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/lines"
	"github.com/bellmanhq/bellman/internal/merchant"
	"github.com/bellmanhq/bellman/internal/registry"
	"github.com/bellmanhq/bellman/store"
)

const (
	importPath = "/merchants/import"
	maxImport  = 8 << 20 // largest file in bytes
)

// An importView is the form that imports merchants, with the results.
type importView struct {
	*view
	Dry     bool
	Reason  string
	Wrong   string
	Results []importedRow
	Sums    importSums
}

// An importedRow is the result of one line.
type importedRow struct {
	Line       int
	MerchantNo string
	What       string // created, changed, same or refused
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
	var results []registry.Imported
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
			if invalid := (*bellman.Invalid)(nil); errors.As(r.Err, &invalid) { // in the names of the file's fields
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

// uploaded reads the uploaded file: rows has an element for each line that is not empty, and all has the
// merchants of the valid lines, in order.
func (q *request) uploaded() (rows []importedRow, all []merchant.Wanted, err error) {
	if q.r.MultipartForm == nil || len(q.r.MultipartForm.File["file"]) == 0 {
		return nil, nil, errFile
	}
	file, err := q.r.MultipartForm.File["file"][0].Open()
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	for line, err := range lines.Merchants.Read(file) {
		if err != nil {
			return nil, nil, err
		}
		if len(rows) == client.MaxBatch {
			return nil, nil, errManyLines
		}
		row := importedRow{Line: line.N, MerchantNo: line.ID}
		if line.Wrong != nil {
			row.What, row.Problem = "refused", q.visitor.lang.unread(line.Wrong)
		} else {
			all = append(all, merchant.Wanted{PutMerchant: line.Entry})
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil, nil, errNoLines
	}
	return rows, all, nil
}

// unread returns why a line could not be parsed.
func (l *language) unread(why error) string {
	if errors.Is(why, lines.ErrNotUTF8) {
		return l.say("problem.registry.not_utf8")
	}
	if e := (*lines.TypeError)(nil); errors.As(why, &e) {
		return l.say("import.wrong_type", "name", e.Field, "got", l.named("import.got", e.Got), "want", l.named("import.want", e.Want))
	}
	if e := lines.TwiceError(""); errors.As(why, &e) {
		return l.say("import.field_twice", "name", string(e))
	}
	if e := lines.UnknownError(""); errors.As(why, &e) {
		return l.say("import.unknown", "name", string(e))
	}
	if e := (*lines.AgainError)(nil); errors.As(why, &e) {
		return l.say("import.twice", "n", e.First)
	}
	return l.say("import.not_json")
}

// exportMerchants writes all merchants in the form of an import. Secrets are sealed: only a server with the
// same master key opens them.
func (q *request) exportMerchants() {
	if err := q.record(q.r.Context(), store.AuditOf(q.by(""), time.Now(), "export", "merchants")); err != nil {
		q.refuse(err)
		return
	}
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
			q.log.Warn("console: an export of merchants was interrupted", "err", err)
			panic(http.ErrAbortHandler) // breaks the connection, so that the file is not taken for complete
		}
		if !begun {
			begun = true
			h.Set("Content-Type", "application/x-ndjson; charset=utf-8")
			h.Set("Content-Disposition", `attachment; filename="bellman-merchants.ndjson"`)
		}
		for i := range page {
			if out.Encode(page[i].Wanted()) != nil {
				return // an error means that the browser has left
			}
		}
		if next == "" {
			return
		}
		after = next
		control.Flush()
		control.SetWriteDeadline(time.Now().Add(exportStep)) // if deadlines are not supported, the end of the connection stops the export
	}
}
