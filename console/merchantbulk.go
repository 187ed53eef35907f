package console

import (
	"bufio"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"time"

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
	all, err := uploaded(q.r)
	var results []ImportedMerchant
	switch {
	case err != nil:
	case !reasoned(v.Reason):
		err = errReason
	default:
		results, err = q.merchants.Import(q.r.Context(), all, v.Dry, bellman.By{Who: q.visitor.Who, Reason: v.Reason})
	}
	status := http.StatusOK
	if err != nil {
		status, v.Wrong = q.wrong(err)
	}
	for i, r := range results {
		row := importedRow{Line: i + 1, MerchantNo: r.MerchantNo}
		switch {
		case r.Err != nil:
			row.What, row.Problem = "refused", strings.ReplaceAll(r.Err.Error(), "bellman: ", "")
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
		v.Results = append(v.Results, row)
	}
	q.render(status, "merchantimport", v)
}

// uploaded reads the merchants of the file that came with a form.
func uploaded(r *http.Request) ([]client.PutMerchant, error) {
	if r.MultipartForm == nil || len(r.MultipartForm.File["file"]) == 0 {
		return nil, errFile
	}
	var file multipart.File
	file, err := r.MultipartForm.File["file"][0].Open()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var all []client.PutMerchant
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadString('\n')
		if text := strings.TrimSpace(line); text != "" {
			var in client.PutMerchant
			d := json.NewDecoder(strings.NewReader(text))
			d.DisallowUnknownFields()
			if d.Decode(&in) != nil || len(all) == importLines {
				return nil, errFile
			}
			all = append(all, in)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if len(all) == 0 {
		return nil, errFile
	}
	return all, nil
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
