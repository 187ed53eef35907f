package console

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/account"
	"github.com/bellmanhq/bellman/internal/lines"
	"github.com/bellmanhq/bellman/internal/merchant"
	"github.com/bellmanhq/bellman/internal/registry"
	"github.com/bellmanhq/bellman/store"
)

const (
	importPath        = "/merchants/import"
	importAccountPath = "/accounts/import"
	maxImport         = 8 << 20 // largest file in bytes
)

// An importView is the form that imports merchants or accounts, with the results.
type importView struct {
	*view
	Action, Note, Label string // the form's address, and names of texts
	Dry                 bool
	Reason              string
	Wrong               string
	Results             []importedRow
	Sums                importSums
	address             func(id string) string // of the page of a merchant or account
}

// An importedRow is the result of one line.
type importedRow struct {
	Line    int
	ID      string
	What    string // created, changed, same or refused
	Problem string
}

type importSums struct{ Created, Changed, Same, Refused int }

// Address returns the address of the page of an imported merchant or account.
func (v *importView) Address(id string) string { return v.address(id) }

// importForm returns the form for merchants, or for accounts.
func (q *request) importForm() *importView {
	if q.r.URL.Path == importAccountPath {
		return &importView{view: q.view("page.accountimport"), Action: importAccountPath, Note: "account.import_note", Label: "field.account", address: accountAddress, Dry: true}
	}
	return &importView{view: q.view("page.import"), Action: importPath, Note: "merchant.import_note", Label: "field.merchant_no", address: merchantAddress, Dry: true}
}

func (q *request) importPage() error { return q.render(http.StatusOK, "import", q.importForm()) }

// importMerchants imports the merchants of a file, one a line.
func (q *request) importMerchants() error {
	return importAll(q, lines.Merchants, func(all []client.PutMerchant, dry bool, by bellman.By) ([]registry.Imported, error) {
		wanted := make([]merchant.Wanted, len(all))
		for i := range all {
			wanted[i].PutMerchant = all[i]
		}
		return q.o.Merchants.Import(q.r.Context(), wanted, dry, by)
	})
}

// importAccounts imports the accounts of a file, one a line.
func (q *request) importAccounts() error {
	return importAll(q, lines.Accounts, func(all []client.PutAccount, dry bool, by bellman.By) ([]registry.Imported, error) {
		wanted := make([]account.Wanted, len(all))
		for i := range all {
			wanted[i].PutAccount = all[i]
		}
		return q.o.Accounts.Import(q.r.Context(), wanted, dry, by)
	})
}

// importAll imports the entries of a file, one a line, and shows what became of each line.
func importAll[T any](q *request, kind lines.Kind[T], put func(all []T, dry bool, by bellman.By) ([]registry.Imported, error)) error {
	v := q.importForm()
	v.Dry, v.Reason = q.r.PostForm.Get("dry") != "", strings.TrimSpace(q.r.PostForm.Get("reason"))
	rows, all, err := uploaded(q, kind)
	var results []registry.Imported
	switch {
	case err != nil:
	case !reasoned(v.Reason):
		err = errReason
	case len(all) > 0:
		results, err = put(all, v.Dry, q.by(v.Reason))
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
			if invalid, is := errors.AsType[*bellman.Invalid](r.Err); is { // in the names of the file's fields
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
	return q.render(status, "import", v)
}

// uploaded reads the uploaded file: rows has an element for each line that is not empty, and all
// has the entries of the valid lines, in order.
func uploaded[T any](q *request, kind lines.Kind[T]) (rows []importedRow, all []T, err error) {
	if q.r.MultipartForm == nil || len(q.r.MultipartForm.File["file"]) == 0 {
		return nil, nil, errFile
	}
	file, err := q.r.MultipartForm.File["file"][0].Open()
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	for line, err := range kind.Read(file) {
		if err != nil {
			return nil, nil, err
		}
		if len(rows) == client.MaxBatch {
			return nil, nil, errManyLines
		}
		row := importedRow{Line: line.N, ID: line.ID}
		if line.Wrong != nil {
			row.What, row.Problem = "refused", q.visitor.lang.unread(line.Wrong)
		} else {
			all = append(all, line.Entry)
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
	if e, is := errors.AsType[*lines.TypeError](why); is {
		return l.say("import.wrong_type", "name", e.Field, "got", l.named("import.got", e.Got), "want", l.named("import.want", e.Want))
	}
	if e, is := errors.AsType[lines.TwiceError](why); is {
		return l.say("import.field_twice", "name", string(e))
	}
	if e, is := errors.AsType[lines.UnknownError](why); is {
		return l.say("import.unknown", "name", string(e))
	}
	if e, is := errors.AsType[*lines.AgainError](why); is {
		return l.say("import.twice", "n", e.First)
	}
	return l.say("import.not_json")
}

// exportMerchants writes all merchants in the form of an import.
func (q *request) exportMerchants() error {
	return exportAll(q, "merchants", func(after string) (page []client.PutMerchant, next string, err error) {
		found, next, err := q.o.Merchants.List(q.r.Context(), client.MerchantSearch{Sealed: true, Limit: 200}, after)
		for i := range found {
			page = append(page, found[i].Wanted())
		}
		return page, next, err
	})
}

// exportAccounts writes all accounts in the form of an import.
func (q *request) exportAccounts() error {
	return exportAll(q, "accounts", func(after string) (page []client.PutAccount, next string, err error) {
		found, next, err := q.o.Accounts.List(q.r.Context(), client.AccountSearch{Sealed: true, Limit: 200}, after)
		for i := range found {
			page = append(page, found[i].Wanted())
		}
		return page, next, err
	})
}

// exportAll writes all pages of a registry, one entry a line. Secrets are sealed: only a server
// with the same master key opens them.
func exportAll[T any](q *request, what string, list func(after string) (page []T, next string, err error)) error {
	if err := q.o.Record(q.r.Context(), store.AuditOf(q.by(""), time.Now(), "export", what)); err != nil {
		return err
	}
	h := q.w.Header()
	control := http.NewResponseController(q.w)
	begun := false
	out := json.NewEncoder(q.w)
	out.SetEscapeHTML(false)
	for after := ""; ; {
		page, next, err := list(after)
		if err != nil {
			if !begun {
				return err
			}
			q.o.Log.Warn("console: an export was interrupted", "of", what, "err", err)
			panic(http.ErrAbortHandler) // breaks the connection, so that the file is not taken for complete
		}
		if !begun {
			begun = true
			h.Set("Content-Type", "application/x-ndjson; charset=utf-8")
			h.Set("Content-Disposition", `attachment; filename="bellman-`+what+`.ndjson"`)
		}
		for i := range page {
			if out.Encode(page[i]) != nil {
				return nil // an error means that the browser has left
			}
		}
		if next == "" {
			return nil
		}
		after = next
		control.Flush()
		control.SetWriteDeadline(time.Now().Add(exportStep)) // if deadlines are not supported, the end of the connection stops the export
	}
}
