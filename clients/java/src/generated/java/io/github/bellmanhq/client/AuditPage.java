// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * AuditPage, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param audits see the API
 * @param nextCursor Cursor of the next page; empty only at the end. A page with few records, or none, may be followed by another.
 */
public record AuditPage(
        List<Audit> audits,
        String nextCursor) {
    static AuditPage of(Object json) {
        var r = Shape.Reader.of("AuditPage", json);
        return new AuditPage(
                r.list("audits", Audit::of),
                r.text("next_cursor"));
    }
}
