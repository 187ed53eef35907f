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
 * @param revoked null if it is not revoked.
 * @param who see the API
 * @param orderNo see the API
 * @param path Path of the link on this server, only in the answer that makes it. Whoever has the link sees what it shows.
 * @param url The full address, if the configuration has a public_url.
 * @param warning Why the link may be a mistake: the merchant or order is unknown. The link is made all the same.
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
