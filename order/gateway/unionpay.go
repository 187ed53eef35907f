package gateway

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/internal/wire"
	"github.com/bellmanhq/bellman/order/states"
)

// unionPay is the gateway of UnionPay, messages of version 5.1.0. Sources:
//
//   - 交易状态查询 (open.unionpay.com, acproduct/APIList, acpAPIId 901 and 824): queryTrans.do, txnType and
//     txnSubType 00, bizType 000000, orderId with txnTime, signMethod 01
//   - UnionPay's Java SDK, in public copies: SDKUtil.sign and validate (RSA-SHA256 over the
//     SHA-256 in hex of all fields but signature, sorted; an answer is k=v&k=v without escapes),
//     CertUtil.verifyCertificate (chain to the root, validity, and the name 中国银联股份有限公司 between the second
//     and the third @ of CN; in the test environment 00040000:SIGN)
//   - UnionPay's demo BackRcvResponse: a notice is a form; for respCode 00 and A6 of a trade that moves
//     money, the merchant is asked to query before it counts; HTTP 200 is the answer
//
// Not confirmed: whether some product has a close of an order that nobody paid. None was found for
// payments on UnionPay's page; they end at payTimeout.
type unionPay struct {
	base    *url.URL
	merID   string
	certID  string
	expires time.Time // of the merchant's certificate
	sign    func(text []byte) (signature string, err error)

	roots, middle *x509.CertPool
	pinned        [][]byte // certificates, in DER, that sign answers themselves
	name          string   // the second name that a certificate may have; empty: only UnionPay's own
}

const (
	unionPayName = "中国银联股份有限公司"
	unionPayTest = "00040000:SIGN" // in the test environment
)

func newUnionPay(base *url.URL, o ProviderOptions, bad *bellman.Invalid) protocol {
	u := &unionPay{base: base, merID: o.MerchantID, roots: x509.NewCertPool(), middle: x509.NewCertPool()}
	if base.Hostname() != "gateway.95516.com" {
		u.name = unionPayTest
	}
	if u.merID == "" {
		bad.Add("mer_id", "want the merchant's number")
	}
	var err error
	if u.sign, err = sign.RSASigner(o.PrivateKey); err != nil {
		bad.Note("private_key", err)
	}
	if err := u.readOwn(o.Certificate); err != nil {
		bad.Note("certificate", err)
	}
	if err := u.trust(o.Roots); err != nil {
		bad.Note("root_certificates", err)
	}
	return u
}

// readOwn takes the number and the end of the merchant's certificate.
func (u *unionPay) readOwn(secret sign.Secret) error {
	own, err := sign.NewRSAVerifier(secret)
	if err != nil {
		return err
	}
	if own.Certificate == nil {
		return errors.New("is a public key: want the merchant's signing certificate, whose serial number is certId")
	}
	if u.sign != nil { // else the private key is wrong already
		probe, err := u.sign([]byte("probe"))
		if err != nil || !own.Verify([]byte("probe"), probe) {
			return errors.New("belongs to another key than private_key")
		}
	}
	u.certID, u.expires = own.Certificate.SerialNumber.String(), own.Certificate.NotAfter
	return nil
}

// trust reads the certificates that answers must lead to.
func (u *unionPay) trust(roots sign.Secret) error {
	text, err := roots.Resolve()
	if err != nil {
		return err
	}
	found := 0
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		c, err := x509.ParseCertificate(block.Bytes)
		switch {
		case err != nil:
			return errors.New("has a block that is no certificate")
		case !c.IsCA:
			u.pinned = append(u.pinned, c.Raw)
			found++
		case string(c.RawIssuer) == string(c.RawSubject):
			u.roots.AddCert(c)
			found++
		default:
			u.middle.AddCert(c)
		}
	}
	if found == 0 {
		return errors.New("want UnionPay's root and middle certificate in PEM, one behind the other")
	}
	return nil
}

var (
	unionPayNo   = regexp.MustCompile(`^[0-9A-Za-z]{8,40}$`)
	unionPayTime = regexp.MustCompile(`^[0-9]{14}$`)
)

func (u *unionPay) check(c call, o *order.Order, bad *bellman.Invalid) {
	checkNumber(c, o, bad, unionPayNo, "UnionPay takes 8 to 40 letters and digits")
	if !unionPayTime.MatchString(o.Vars["txn_time"]) {
		bad.Add("vars.txn_time", "want the txnTime that the order or refund was sent with, such as 20261120230405: UnionPay knows it by orderId and txnTime")
	}
}

func (u *unionPay) request(ctx context.Context, c call, o *order.Order, _ time.Time) (*http.Request, error) {
	no := o.OrderNo
	switch c {
	case callClose:
		return nil, errNoCall
	case callRefund:
		no = o.RefNo
	}
	fields := map[string]string{
		"version": "5.1.0", "encoding": "UTF-8", "signMethod": "01", "txnType": "00", "txnSubType": "00", "bizType": "000000",
		"accessType": "0", "merId": u.merID, "orderId": no, "txnTime": o.Vars["txn_time"], "certId": u.certID,
	}
	signature, err := u.sign(unionPayText(fields))
	if err != nil {
		return nil, err
	}
	form := url.Values{"signature": {signature}}
	for name, value := range fields {
		form.Set(name, value)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.base.JoinPath("/gateway/api/queryTrans.do").String(), strings.NewReader(form.Encode()))
	if err != nil {
		return nil, errors.New("the request cannot be made")
	}
	req.Header.Set("Content-Type", typeForm+"; charset=UTF-8")
	return req, nil
}

// unionPayText is the text that is signed: the SHA-256, in hex, of the fields without signature,
// sorted by name, as name=value joined with &.
func unionPayText(fields map[string]string) []byte {
	var text []byte
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name == "signature" {
			continue
		}
		if text != nil {
			text = append(text, '&')
		}
		text = append(append(append(text, name...), '='), fields[name]...)
	}
	sum := sha256.Sum256(text)
	return []byte(hex.EncodeToString(sum[:]))
}

// verify says why fields are not UnionPay's; nil: they are.
func (u *unionPay) verify(fields map[string]string, now time.Time) error {
	switch {
	case fields["signature"] == "":
		return errors.New("it is not signed")
	case fields["version"] != "5.1.0" || fields["signMethod"] != "01":
		return fmt.Errorf("its version is %.10q and its signMethod %.10q: want 5.1.0 and 01", fields["version"], fields["signMethod"])
	}
	if err := u.trusted(fields["signPubKeyCert"], now); err != nil {
		return err
	}
	key, err := sign.NewRSAVerifier(sign.NewSecret(fields["signPubKeyCert"]))
	if err != nil {
		return fmt.Errorf("its signPubKeyCert: %w", err)
	}
	if !key.Verify(unionPayText(fields), fields["signature"]) {
		return errors.New("its signature is wrong")
	}
	return nil
}

// trusted says why a certificate that came with a message is not UnionPay's; nil: it is.
func (u *unionPay) trusted(text string, now time.Time) error {
	block, rest := pem.Decode([]byte(text))
	begins := strings.HasPrefix(strings.TrimSpace(text), "-----BEGIN CERTIFICATE-----") // as a Secret it could name a file
	if block == nil || !begins || strings.TrimSpace(string(rest)) != "" {
		return errors.New("its signPubKeyCert is not one certificate in PEM")
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return errors.New("its signPubKeyCert is not one certificate in PEM")
	}
	if slices.ContainsFunc(u.pinned, func(pinned []byte) bool { return string(pinned) == string(c.Raw) }) {
		if now.Before(c.NotBefore) || now.After(c.NotAfter) {
			return fmt.Errorf("its certificate is valid until %s", c.NotAfter.UTC().Format(time.DateOnly))
		}
		return nil
	}
	parts := strings.Split(c.Subject.CommonName, "@")
	if len(parts) < 3 || parts[2] != unionPayName && (u.name == "" || parts[2] != u.name) {
		return fmt.Errorf("its certificate is of %.60q, not of UnionPay", c.Subject.CommonName)
	}
	_, err = c.Verify(x509.VerifyOptions{Roots: u.roots, Intermediates: u.middle, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	if err != nil {
		return fmt.Errorf("its certificate is not UnionPay's: %w", err)
	}
	return nil
}

func (u *unionPay) open(c call, o *order.Order, a *order.Answer, now time.Time) error {
	parsed, err := states.ParseForm(a.Body)
	if err != nil {
		return err
	}
	fields := make(map[string]string, len(parsed))
	for name := range parsed {
		fields[name] = textAt(parsed, name)
	}
	if err := u.verify(fields, now); err != nil {
		return fmt.Errorf("the answer cannot be trusted: %w; it says respCode %.10q, %.60q", err, fields["respCode"], fields["respMsg"])
	}
	no := o.OrderNo
	if c == callRefund {
		no = o.RefNo
	}
	for name, want := range map[string]string{"merId": u.merID, "orderId": no, "txnTime": o.Vars["txn_time"]} {
		if err := isAbout(name, fields[name], want, true); err != nil {
			return err
		}
	}
	return nil
}

func (u *unionPay) notice(raw *order.RawNotice) (t telling, hint string, err error) {
	fields, err := formFields(raw.Body)
	if err != nil {
		return t, "", err
	}
	untrusted := u.verify(fields, raw.At)
	if untrusted != nil { // the SDK leaves out fields without a value before it verifies a notice
		full := maps.Clone(fields)
		maps.DeleteFunc(full, func(_, value string) bool { return value == "" })
		if u.verify(full, raw.At) == nil {
			fields, untrusted = full, nil
		}
	}
	ours := fields["merId"] == u.merID
	switch {
	case untrusted != nil && ours:
		return t, fields["orderId"], untrusted
	case untrusted != nil:
		return t, "", untrusted
	case !ours:
		return t, "", fmt.Errorf("it is for the merchant %.40q: want %.40q", fields["merId"], u.merID)
	}
	t = telling{id: fields["queryId"]}
	switch fields["txnType"] {
	case "01", "02", "03": // a payment, an authorisation, its capture
		t.of, t.orderNo = order.OfPayment, fields["orderId"]
		t.ask = fmt.Sprintf("UnionPay asks to query a payment before it counts; the notice says respCode %.10q", fields["respCode"])
	case "04", "31": // a refund, a cancellation of the same day: each has an orderId of its own
		t.of, t.refNo = order.OfRefund, fields["orderId"]
	default:
		t.err, t.other = fmt.Errorf("the notice is of txnType %.10q, and not of a payment or refund", fields["txnType"]), true
	}
	delete(fields, "signPubKeyCert")
	delete(fields, "signature")
	if t.body, err = wire.Marshal(fields); err != nil {
		t.err = err
	}
	return t, "", nil
}

func (u *unionPay) answer(accepted bool) order.NoticeAnswer { return plain(accepted, "ok", "fail") }
