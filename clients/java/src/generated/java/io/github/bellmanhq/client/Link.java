// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Link, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param expires see the API
 * @param id see the API
 * @param made see the API
 * @param merchantNo see the API
 * @param reason see the API
 * @param revoked null: it is not.
 * @param who see the API
 * @param orderNo see the API
 * @param path Its address on this server, for whoever made it: whoever has it sees what it shows. Left out of lists.
 * @param url The same in full, where the configuration says how merchants reach this server (public_url).
 * @param warning Why the link may be a mistake, for whoever makes it: no such merchant or order is known. It is made all the same.
 */
public record Link(
        Instant expires,
        String id,
        Instant made,
        String merchantNo,
        String reason,
        Instant revoked,
        String who,
        String orderNo,
        String path,
        String url,
        String warning) {
    static Link of(Object json) {
        var r = Shape.Reader.of("Link", json);
        return new Link(
                r.time("expires"),
                r.text("id"),
                r.time("made"),
                r.text("merchant_no"),
                r.text("reason"),
                r.time("revoked"),
                r.text("who"),
                r.text("order_no"),
                r.text("path"),
                r.text("url"),
                r.text("warning"));
    }
}
