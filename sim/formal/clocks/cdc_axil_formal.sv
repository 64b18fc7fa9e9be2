// cdc_axil at any phases and rates of its clocks, which the solver chooses. Its two cdc_restart keep step whatever resets come: states are
// counted from RUN: STOP, CLEAR, DONE, modulo 4. Its accesses pass once and whole from the state behind a restart on until the next reset;
// they are numbered modulo 4.
module cdc_axil_formal
  import axi_pkg::*;
(
    input logic s_clk,
    input logic s_rst,
    input logic m_clk,
    input logic m_rst,

    input axil_request_t  s_axil_i,
    input axil_response_t s_axil_o,
    input axil_request_t  m_axil_o,
    input axil_response_t m_axil_i,

    input logic [1:0] s_restart,  // states
    input logic [1:0] m_restart,
    input logic [1:0] s_meta,     // the master's side's two registers of the other's state
    input logic [1:0] s_sync,
    input logic [1:0] m_meta,
    input logic [1:0] m_sync,
    input logic       s_wanted,
    input logic       m_wanted,
    input logic       s_clear,
    input logic       m_clear,
    input logic       s_stop,
    input logic       m_stop,

    // The master's side
    input logic [ 1:0] s_state_q,      // IDLE, ASKED, RESPOND
    input logic        begin_write,
    input logic        begin_read,
    input logic        aw_valid_q,
    input logic        w_valid_q,
    input logic        ar_valid_q,
    input logic [18:0] aw_q,
    input logic [35:0] w_q,
    input logic [18:0] ar_q,
    input logic [55:0] hold_q,
    input logic [33:0] answer_word_q,
    input logic        asked_q,
    input logic        answered_meta,
    input logic        answered,

    // The slave's
    input logic [ 1:0] m_state_q,      // REST, ISSUE, GIVE
    input logic [ 1:0] m_state_d,
    input logic [55:0] word_q,
    input logic        addr_valid_q,
    input logic        data_valid_q,
    input logic [33:0] answer_hold_q,
    input logic        answered_q,
    input logic        asked_meta,
    input logic        asked
);

  typedef logic [1:0] step_t;

  function automatic step_t step(input logic [1:0] state);
    unique case (state)
      2'b00:   return 2'd0;
      2'b10:   return 2'd1;
      2'b11:   return 2'd2;
      default: return 2'd3;
    endcase
  endfunction

  step_t ahead;  // of the master's side: 0, 1, or 3 for one step behind
  step_t s_meta_lag, s_sync_lag, m_meta_lag, m_sync_lag;

  assign ahead = step(s_restart) - step(m_restart);
  assign s_meta_lag = step(m_restart) - step(s_meta);
  assign s_sync_lag = step(m_restart) - step(s_sync);
  assign m_meta_lag = step(s_restart) - step(m_meta);
  assign m_sync_lag = step(s_restart) - step(m_sync);

  logic s_begun_q = 1'b0;
  logic m_begun_q = 1'b0;  // there was an edge of the clock
  step_t s_before_q = '0;
  step_t m_before_q = '0;

  always_ff @(posedge s_clk) {s_begun_q, s_before_q} <= {1'b1, step(s_restart)};
  always_ff @(posedge m_clk) {m_begun_q, m_before_q} <= {1'b1, step(m_restart)};

  always_comb begin
    a_in_step : assert (ahead != 2'd2);
    a_cleared_while_stopped : assert (!(s_clear && !m_stop) && !(m_clear && !s_stop));
    if (s_begun_q) a_s_one_step : assert (step_t'(step(s_restart) - s_before_q) <= 2'd1);
    if (m_begun_q) a_m_one_step : assert (step_t'(step(m_restart) - m_before_q) <= 2'd1);

    i_s_lag : assert (s_meta_lag <= s_sync_lag && s_sync_lag != 2'd3);
    i_m_lag : assert (m_meta_lag <= m_sync_lag && m_sync_lag != 2'd3);
    if (s_sync_lag == 2'd2) i_s_lag_two : assert (ahead == 2'd3);
    if (m_sync_lag == 2'd2) i_m_lag_two : assert (ahead == 2'd1);
    if (ahead == 2'd1) i_s_knows : assert (s_sync_lag == 2'd0);
    if (ahead == 2'd3) i_m_knows : assert (m_sync_lag == 2'd0);
  end

  // Accesses
  localparam logic [1:0] IDLE = 2'd0;
  localparam logic [1:0] ASKED = 2'd1;
  localparam logic [1:0] RESPOND = 2'd2;
  localparam logic [1:0] REST = 2'd0;
  localparam logic [1:0] ISSUE = 2'd1;
  localparam logic [1:0] GIVE = 2'd2;
  localparam int unsigned WRITE = 55;  // bit of an access

  logic s_quiet_q = 1'b1;  // no reset
  logic m_quiet_q = 1'b1;
  logic quiet, begins, issues;

  assign quiet = s_quiet_q && m_quiet_q;
  assign begins = begin_write || begin_read;
  assign issues = m_state_q == REST && m_state_d == ISSUE;

  // What the master says, and the access that is under way
  logic [18:0] said_aw_q, said_ar_q;
  logic [35:0] said_w_q;
  logic [55:0] access_q;
  logic [33:0] s_seen_q;  // answer_hold_q at the last edge
  logic last_write_q = 1'b0;
  logic [1:0] begun_q = '0;
  logic b_waits_q = 1'b0;  // an answer is on offer, and was not taken
  logic r_waits_q = 1'b0;

  always_ff @(posedge s_clk) begin
    s_quiet_q <= s_quiet_q && !s_rst;
    s_seen_q  <= answer_hold_q;
    b_waits_q <= s_axil_o.bvalid && !s_axil_i.bready;
    r_waits_q <= s_axil_o.rvalid && !s_axil_i.rready;
    if (s_axil_i.awvalid && s_axil_o.awready) said_aw_q <= {s_axil_i.awaddr, s_axil_i.awprot};
    if (s_axil_i.wvalid && s_axil_o.wready) said_w_q <= {s_axil_i.wdata, s_axil_i.wstrb};
    if (s_axil_i.arvalid && s_axil_o.arready) said_ar_q <= {s_axil_i.araddr, s_axil_i.arprot};
    if (begins) begin
      access_q <= begin_write ? {1'b1, said_aw_q, said_w_q} : {1'b0, said_ar_q, 36'd0};
      last_write_q <= begin_write;
      begun_q <= begun_q + 1'b1;
    end
  end

  // What the slave is asked, and answers
  logic [55:0] m_seen_q;  // hold_q at the last edge
  logic [33:0] answer_q;
  logic addr_taken_q, data_taken_q;
  logic [1:0] issued_q = '0;
  logic aw_waits_q = 1'b0;  // on offer, and not taken
  logic w_waits_q = 1'b0;
  logic ar_waits_q = 1'b0;

  always_ff @(posedge m_clk) begin
    m_quiet_q <= m_quiet_q && !m_rst;
    m_seen_q  <= hold_q;
    aw_waits_q <= m_axil_o.awvalid && !m_axil_i.awready;
    w_waits_q <= m_axil_o.wvalid && !m_axil_i.wready;
    ar_waits_q <= m_axil_o.arvalid && !m_axil_i.arready;
    if ((m_axil_o.awvalid && m_axil_i.awready) || (m_axil_o.arvalid && m_axil_i.arready)) addr_taken_q <= 1'b1;
    if (m_axil_o.wvalid && m_axil_i.wready) data_taken_q <= 1'b1;
    if (m_axil_o.bready && m_axil_i.bvalid) answer_q <= {m_axil_i.bresp, 32'd0};
    if (m_axil_o.rready && m_axil_i.rvalid) answer_q <= {m_axil_i.rresp, m_axil_i.rdata};
    if (issues) begin
      addr_taken_q <= 1'b0;
      data_taken_q <= 1'b0;
      issued_q <= issued_q + 1'b1;
    end
  end

  always_comb begin
    if (!s_begun_q) assume (s_state_q == IDLE && !aw_valid_q && !w_valid_q && !ar_valid_q && !hold_q[WRITE]);
    if (!m_begun_q) assume (m_state_q == REST && !addr_valid_q && !data_valid_q);
    if (quiet) begin
      if (m_axil_i.bvalid) assume (m_state_q == ISSUE && word_q[WRITE] && addr_taken_q && data_taken_q);
      if (m_axil_i.rvalid) assume (m_state_q == ISSUE && !word_q[WRITE] && addr_taken_q);
    end
  end

  logic [5:0] ring;  // the turn of asked_q goes round: it is at one place at most
  assign ring = {asked_q, asked_meta, asked, answered_q, answered_meta, answered};

  always_comb begin
    if (quiet) begin
      if (m_axil_o.awvalid)
        a_write : assert (access_q[WRITE] && {m_axil_o.awaddr, m_axil_o.awprot} == access_q[54:36] && !addr_taken_q);
      if (m_axil_o.wvalid)
        a_data : assert (access_q[WRITE] && {m_axil_o.wdata, m_axil_o.wstrb} == access_q[35:0] && !data_taken_q);
      if (m_axil_o.arvalid)
        a_read : assert (!access_q[WRITE] && {m_axil_o.araddr, m_axil_o.arprot} == access_q[54:36] && !addr_taken_q);
      if (m_state_q == ISSUE) a_offers : assert (addr_valid_q || addr_taken_q);
      if (issues) a_settled : assert (hold_q == m_seen_q);
      a_once : assert (issued_q == begun_q || (begun_q == issued_q + 2'd1 && s_state_q == ASKED));
      if (s_axil_o.bvalid) a_answers_write : assert (access_q[WRITE] && s_axil_o.bresp == answer_q[33:32]);
      if (s_axil_o.rvalid) a_answers_read : assert (!access_q[WRITE] && {s_axil_o.rresp, s_axil_o.rdata} == answer_q);
      if (s_axil_o.bvalid || s_axil_o.rvalid) a_answered : assert (issued_q == begun_q && m_state_q == REST);
      if (s_state_q == ASKED && answered == asked_q) a_answer_settled : assert (answer_hold_q == s_seen_q);
      a_held : assert (!(aw_waits_q && !m_axil_o.awvalid) && !(w_waits_q && !m_axil_o.wvalid) &&
                       !(ar_waits_q && !m_axil_o.arvalid) && !(b_waits_q && !s_axil_o.bvalid) &&
                       !(r_waits_q && !s_axil_o.rvalid));
      if (ar_valid_q && aw_valid_q && w_valid_q && begins) a_turns : assert (begin_write == !last_write_q);

      i_run : assert ({s_restart, m_restart, s_meta, s_sync, m_meta, m_sync, s_wanted, m_wanted} == '0);
      i_states : assert (s_state_q <= RESPOND && m_state_q <= GIVE);
      i_ring : assert ($onehot0(ring[5:1] ^ ring[4:0]));
      if (s_state_q != ASKED) i_round : assert (asked_q == answered);
      if (m_state_q != REST) i_asked : assert (asked != answered_q);
      i_issued : assert (2'(begun_q - issued_q) == 2'(asked_q != answered_q && m_state_q == REST));
      if (m_state_q != REST) i_word : assert (word_q == hold_q);
      if (s_state_q != IDLE) i_hold : assert (hold_q == access_q);
      i_last : assert (hold_q[WRITE] == last_write_q);
      if (aw_valid_q) i_aw : assert (aw_q == said_aw_q);
      if (w_valid_q) i_w : assert (w_q == said_w_q);
      if (ar_valid_q) i_ar : assert (ar_q == said_ar_q);
      if (s_state_q == ASKED && asked_meta == asked_q) i_m_seen : assert (m_seen_q == hold_q);
      if (m_state_q == ISSUE) i_addr : assert (addr_valid_q == !addr_taken_q);
      if (m_state_q == ISSUE && word_q[WRITE]) i_data : assert (data_valid_q == !data_taken_q);
      if (m_state_q != ISSUE) i_no_addr : assert (!addr_valid_q && !(data_valid_q && word_q[WRITE]));
      if (m_state_q == GIVE || (s_state_q == ASKED && answered_q == asked_q))
        i_answer : assert (answer_hold_q == answer_q);
      if (s_state_q == ASKED && answered_q == asked_q && answered_meta == answered_q)
        i_s_seen : assert (s_seen_q == answer_hold_q);
      i_m_waits : assert (!(aw_waits_q || w_waits_q || ar_waits_q) || m_state_q == ISSUE);
      i_s_waits : assert (!(b_waits_q || r_waits_q) || s_state_q == RESPOND);
      if (s_state_q == RESPOND) i_respond : assert (answer_word_q == answer_q);
    end
  end

endmodule

bind cdc_axil cdc_axil_formal u_formal (
    .s_meta(u_s_restart.u_peer.meta_q),
    .s_sync(u_s_restart.u_peer.sync_q),
    .m_meta(u_m_restart.u_peer.meta_q),
    .m_sync(u_m_restart.u_peer.sync_q),
    .s_wanted(u_s_restart.wanted_q),
    .m_wanted(u_m_restart.wanted_q),
    .aw_q({aw_addr_q, aw_prot_q}),
    .w_q({w_data_q, w_strb_q}),
    .ar_q({ar_addr_q, ar_prot_q}),
    .asked_meta(u_asked.meta_q),
    .answered_meta(u_answered.meta_q),
    .s_state_q(s_state_q),
    .m_state_q(m_state_q),
    .m_state_d(m_state_d),
    .hold_q(hold_q),
    .word_q(word_q),
    .answer_word_q(answer_word_q),
    .answer_hold_q(answer_hold_q),
    .*
);
