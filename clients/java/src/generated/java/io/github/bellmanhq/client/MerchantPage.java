// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * MerchantPage, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param merchants see the API
 * @param nextCursor Cursor of the next page; empty only at the end.
 */
public record MerchantPage(
        List<Merchant> merchants,
        String nextCursor) {
    static MerchantPage of(Object json) {
        var r = Shape.Reader.of("MerchantPage", json);
        return new MerchantPage(
                r.list("merchants", Merchant::of),
                r.text("next_cursor"));
    }
}
