// axil_turns: the registers see one access at a time, whole, as its master gives it, and its answer goes to that master. Shown for one
// master, any, beside the other one.
module axil_turns_formal
  import axi_pkg::*;
(
    input logic clk,
    input logic rst,

    input axil_request_t  [1:0] s_axil_i,
    input axil_response_t [1:0] s_axil_o,
    input axil_request_t        m_axil_o,
    input axil_response_t       m_axil_i,

    input logic       busy_q,
    input logic       whose_q,
    input logic [1:0] asks
);

  reset_rule u_reset (.*);

  // What the registers have taken of the access under way, and of which master
  logic aw_q, w_q, ar_q, owner_q;
  logic aw, w, ar, over;
  logic [1:0] aw_of, w_of, ar_of, b_of, r_of;  // what happens at each master
  logic [1:0] write_of, read_of, has_aw_q, has_w_q, has_ar_q;  // an access is under way; what was taken of it

  assign aw = m_axil_o.awvalid && m_axil_i.awready;
  assign w = m_axil_o.wvalid && m_axil_i.wready;
  assign ar = m_axil_o.arvalid && m_axil_i.arready;
  assign over = (m_axil_i.bvalid && m_axil_o.bready) || (m_axil_i.rvalid && m_axil_o.rready);

  for (genvar k = 0; k < 2; k++) begin : gen_master
    assign aw_of[k] = s_axil_i[k].awvalid && s_axil_o[k].awready;
    assign w_of[k] = s_axil_i[k].wvalid && s_axil_o[k].wready;
    assign ar_of[k] = s_axil_i[k].arvalid && s_axil_o[k].arready;
    assign b_of[k] = s_axil_o[k].bvalid && s_axil_i[k].bready;
    assign r_of[k] = s_axil_o[k].rvalid && s_axil_i[k].rready;
    assign write_of[k] = s_axil_i[k].awvalid || s_axil_i[k].wvalid || has_aw_q[k] || has_w_q[k];
    assign read_of[k] = s_axil_i[k].arvalid || has_ar_q[k];

    hold_rule #(
        .DataW (19),
        .Assume(1'b1)
    ) u_write_address (
        .clk,
        .rst,
        .tdata_i ({s_axil_i[k].awaddr, s_axil_i[k].awprot}),
        .tvalid_i(s_axil_i[k].awvalid),
        .tready_i(s_axil_o[k].awready)
    );

    hold_rule #(
        .DataW (36),
        .Assume(1'b1)
    ) u_write_data (
        .clk,
        .rst,
        .tdata_i ({s_axil_i[k].wdata, s_axil_i[k].wstrb}),
        .tvalid_i(s_axil_i[k].wvalid),
        .tready_i(s_axil_o[k].wready)
    );

    hold_rule #(
        .DataW (19),
        .Assume(1'b1)
    ) u_read_address (
        .clk,
        .rst,
        .tdata_i ({s_axil_i[k].araddr, s_axil_i[k].arprot}),
        .tvalid_i(s_axil_i[k].arvalid),
        .tready_i(s_axil_o[k].arready)
    );

    hold_rule #(
        .DataW(2)
    ) u_write_answer (
        .clk,
        .rst,
        .tdata_i (s_axil_o[k].bresp),
        .tvalid_i(s_axil_o[k].bvalid),
        .tready_i(s_axil_i[k].bready)
    );

    hold_rule #(
        .DataW(34)
    ) u_read_answer (
        .clk,
        .rst,
        .tdata_i ({s_axil_o[k].rdata, s_axil_o[k].rresp}),
        .tvalid_i(s_axil_o[k].rvalid),
        .tready_i(s_axil_i[k].rready)
    );

    always_ff @(posedge clk) begin
      if (aw_of[k]) has_aw_q[k] <= 1'b1;
      if (w_of[k]) has_w_q[k] <= 1'b1;
      if (ar_of[k]) has_ar_q[k] <= 1'b1;
      if (b_of[k]) {has_aw_q[k], has_w_q[k]} <= '0;
      if (r_of[k]) has_ar_q[k] <= 1'b0;
      if (rst) {has_aw_q[k], has_w_q[k], has_ar_q[k]} <= '0;
    end

    always_comb begin
      assume (!(write_of[k] && read_of[k]));  // one access at a time
      assume (!(s_axil_i[k].awvalid && has_aw_q[k]) && !(s_axil_i[k].wvalid && has_w_q[k]) &&
          !(s_axil_i[k].arvalid && has_ar_q[k]));
    end
  end

  // To the registers: held, and they answer what they have taken, held as well
  hold_rule #(
      .DataW(19)
  ) u_write_address (
      .clk,
      .rst,
      .tdata_i ({m_axil_o.awaddr, m_axil_o.awprot}),
      .tvalid_i(m_axil_o.awvalid),
      .tready_i(m_axil_i.awready)
  );

  hold_rule #(
      .DataW(36)
  ) u_write_data (
      .clk,
      .rst,
      .tdata_i ({m_axil_o.wdata, m_axil_o.wstrb}),
      .tvalid_i(m_axil_o.wvalid),
      .tready_i(m_axil_i.wready)
  );

  hold_rule #(
      .DataW(19)
  ) u_read_address (
      .clk,
      .rst,
      .tdata_i ({m_axil_o.araddr, m_axil_o.arprot}),
      .tvalid_i(m_axil_o.arvalid),
      .tready_i(m_axil_i.arready)
  );

  hold_rule #(
      .DataW (2),
      .Assume(1'b1)
  ) u_write_answer (
      .clk,
      .rst,
      .tdata_i (m_axil_i.bresp),
      .tvalid_i(m_axil_i.bvalid),
      .tready_i(m_axil_o.bready)
  );

  hold_rule #(
      .DataW (34),
      .Assume(1'b1)
  ) u_read_answer (
      .clk,
      .rst,
      .tdata_i ({m_axil_i.rdata, m_axil_i.rresp}),
      .tvalid_i(m_axil_i.rvalid),
      .tready_i(m_axil_o.rready)
  );

  always_ff @(posedge clk) begin
    if (aw || w || ar) owner_q <= whose_q;
    if (aw) aw_q <= 1'b1;
    if (w) w_q <= 1'b1;
    if (ar) ar_q <= 1'b1;
    if (over) {aw_q, w_q, ar_q} <= '0;
    if (rst) {aw_q, w_q, ar_q} <= '0;
  end

  always_comb begin
    assume (!m_axil_i.bvalid || (aw_q && w_q));
    assume (!m_axil_i.rvalid || ar_q);
  end

  // Accesses that the other master began since this one asks
  logic any, other, taken, begins_other, begun_q, asked_q, free_q;
  axil_request_t  of_any;
  axil_response_t to_any;

  always_ff @(posedge clk) any <= any;  // a constant, the solver's choice
  assign other = !any;
  assign of_any = s_axil_i[any];
  assign to_any = s_axil_o[any];
  assign taken = aw_of[any] || w_of[any] || ar_of[any];

  logic [1:0] passed_q;

  always_ff @(posedge clk) begin
    begun_q <= (begun_q || m_axil_o.awvalid || m_axil_o.wvalid || m_axil_o.arvalid) && !over;
    asked_q <= asks[any] && !(busy_q && whose_q == any);
    free_q  <= !begun_q && asks != '0 && !rst;
    passed_q <= !asks[any] || (busy_q && whose_q == any) ? '0 : passed_q + 2'(begins_other && passed_q != '1);
    if (rst) {begun_q, asked_q, passed_q} <= '0;
  end

  assign begins_other = busy_q && whose_q == other && !begun_q;

  always_comb begin
    if (!rst) begin
      a_one : assert (!(aw || w || ar) || !(aw_q || w_q || ar_q) || owner_q == whose_q);
      a_taken : assert ({aw, w, ar} == {|aw_of, |w_of, |ar_of} && $onehot0(aw_of | w_of | ar_of));
      if (taken) a_its : assert ({aw_of[any], w_of[any], ar_of[any]} == {aw, w, ar});
      if (aw_of[any]) a_address : assert ({m_axil_o.awaddr, m_axil_o.awprot} == {of_any.awaddr, of_any.awprot});
      if (w_of[any]) a_data : assert ({m_axil_o.wdata, m_axil_o.wstrb} == {of_any.wdata, of_any.wstrb});
      if (ar_of[any]) a_read : assert ({m_axil_o.araddr, m_axil_o.arprot} == {of_any.araddr, of_any.arprot});
      if (aw_q || w_q || ar_q) begin
        a_answer :
        assert ({to_any.bvalid, to_any.rvalid} == (owner_q == any ? {m_axil_i.bvalid, m_axil_i.rvalid} : 2'd0));
      end
      if (aw_q || w_q || ar_q)
        a_accepts : assert (owner_q != any || {m_axil_o.bready, m_axil_o.rready} == {of_any.bready, of_any.rready});
      if (!(aw_q || w_q || ar_q)) a_no_answer : assert (!to_any.bvalid && !to_any.rvalid);
      if (to_any.bvalid) a_response : assert (to_any.bresp == m_axil_i.bresp);
      if (to_any.rvalid) a_read_data : assert ({to_any.rdata, to_any.rresp} == {m_axil_i.rdata, m_axil_i.rresp});
      a_turn : assert (passed_q <= 2'd1);
      if (free_q) a_goes : assert (busy_q);
      i_begun : assert (!begun_q || busy_q);
      i_busy : assert (busy_q || !(aw_q || w_q || ar_q));
      i_owner : assert (!(aw_q || w_q || ar_q) || owner_q == whose_q);
      i_has : assert ({has_aw_q[owner_q], has_w_q[owner_q], has_ar_q[owner_q]} == {aw_q, w_q, ar_q});
      i_has_not : assert ({has_aw_q[!owner_q], has_w_q[!owner_q], has_ar_q[!owner_q]} == '0);
      if (passed_q != '0) i_passed : assert (asks[any] && (whose_q == any ? busy_q : begun_q || !busy_q));
      if (busy_q && !begun_q) i_asks : assert (asks[whose_q]);
      if (begun_q && !(aw_q || w_q || ar_q)) i_offers : assert (asks[whose_q]);
    end
  end

endmodule

bind axil_turns axil_turns_formal u_formal (.*);
