// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * AskedOfOrder, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param at see the API
 * @param orderState After the query.
 * @param reading What the channel answered, such as PAID.
 * @param settled The order agrees with the bill now.
 * @param error see the API
 */
public record AskedOfOrder(
        Instant at,
        String orderState,
        String reading,
        boolean settled,
        String error) {
    static AskedOfOrder of(Object json) {
        var r = Shape.Reader.of("AskedOfOrder", json);
        return new AskedOfOrder(
                r.time("at"),
                r.text("order_state"),
                r.text("reading"),
                r.bool("settled", false),
                r.text("error"));
    }
}
