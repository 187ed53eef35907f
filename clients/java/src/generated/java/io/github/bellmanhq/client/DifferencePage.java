// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * DifferencePage, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param differences see the API
 * @param nextCursor Empty: there are no more.
 */
public record DifferencePage(
        List<Difference> differences,
        String nextCursor) {
    static DifferencePage of(Object json) {
        var r = Shape.Reader.of("DifferencePage", json);
        return new DifferencePage(
                r.list("differences", Difference::of),
                r.text("next_cursor"));
    }
}
