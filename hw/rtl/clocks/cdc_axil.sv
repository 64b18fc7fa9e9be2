// Brings AXI4-Lite accesses into another clock, one at a time, reads and writes in turn where both wait.
// An access that a reset of the slave's side breaks off, or that comes while it lasts, is answered with SLVERR: the master never waits
// for ever. One under way when the master's side is reset ends on the slave's side; its answer is dropped.
module cdc_axil
  import axi_pkg::*;
(
    input logic s_clk,
    input logic s_rst,

    // From the master
    input  axil_request_t  s_axil_i,
    output axil_response_t s_axil_o,

    input logic m_clk,
    input logic m_rst,

    // To the slave
    output axil_request_t  m_axil_o,
    input  axil_response_t m_axil_i
);

  typedef struct packed {
    logic        write;
    logic [15:0] addr;
    logic [2:0]  prot;
    logic [31:0] data;
    logic [3:0]  strb;
  } access_t;

  typedef struct packed {
    logic [1:0]  resp;
    logic [31:0] data;
  } answer_t;

  localparam logic [1:0] SLVERR = 2'b10;

  typedef enum logic [1:0] {
    IDLE,    // until a read, or both halves of a write, have come
    ASKED,   // the other side has it
    RESPOND  // until it is taken
  } s_state_e;

  typedef enum logic [1:0] {
    REST,
    ISSUE,  // until the slave has all of it and has answered
    GIVE    // the answer, to the other side
  } m_state_e;

  logic [1:0] s_restart, m_restart;
  logic s_stop, s_clear, m_stop, m_clear, asked, answered;
  logic asked_q = 1'b0;
  logic answered_q = 1'b0;

  // The master's side. hold_q stays from the turn of asked_q to its answer.
  s_state_e s_state_q, s_state_d;
  access_t hold_q, next;
  answer_t answer_hold_q, answer_word_q;
  logic aw_valid_q, w_valid_q, ar_valid_q, begin_write, begin_read, refused;
  logic [15:0] aw_addr_q, ar_addr_q;
  logic [2:0] aw_prot_q, ar_prot_q;
  logic [31:0] w_data_q;
  logic [3:0] w_strb_q;

  assign begin_write = s_state_q == IDLE && aw_valid_q && w_valid_q && !(ar_valid_q && hold_q.write);
  assign begin_read = s_state_q == IDLE && ar_valid_q && !begin_write;
  assign refused = s_stop;
  assign next = begin_write ? '{write: 1'b1, addr: aw_addr_q, prot: aw_prot_q, data: w_data_q, strb: w_strb_q} :
      '{write: 1'b0, addr: ar_addr_q, prot: ar_prot_q, data: '0, strb: '0};

  always_comb begin
    s_state_d = s_state_q;
    unique case (s_state_q)
      IDLE: if (begin_write || begin_read) s_state_d = refused ? RESPOND : ASKED;
      ASKED: if (refused || answered == asked_q) s_state_d = RESPOND;
      default: if (hold_q.write ? s_axil_i.bready : s_axil_i.rready) s_state_d = IDLE;
    endcase
  end

  always_ff @(posedge s_clk) begin
    s_state_q <= s_state_d;
    if (s_axil_o.awready) {aw_addr_q, aw_prot_q} <= {s_axil_i.awaddr, s_axil_i.awprot};
    if (s_axil_o.arready) {ar_addr_q, ar_prot_q} <= {s_axil_i.araddr, s_axil_i.arprot};
    if (s_axil_o.wready) {w_data_q, w_strb_q} <= {s_axil_i.wdata, s_axil_i.wstrb};
    aw_valid_q <= s_axil_o.awready ? s_axil_i.awvalid : !begin_write;
    w_valid_q  <= s_axil_o.wready ? s_axil_i.wvalid : !begin_write;
    ar_valid_q <= s_axil_o.arready ? s_axil_i.arvalid : !begin_read;
    if (begin_write || begin_read) begin
      hold_q <= next;
      if (!refused) asked_q <= !asked_q;
      else answer_word_q <= '{resp: SLVERR, data: '0};
    end
    if (s_state_q == ASKED && s_state_d == RESPOND) begin
      answer_word_q <= refused ? '{resp: SLVERR, data: '0} : answer_hold_q;
    end
    if (s_clear) asked_q <= 1'b0;
    if (s_rst) begin
      s_state_q  <= IDLE;
      aw_valid_q <= 1'b0;
      w_valid_q  <= 1'b0;
      ar_valid_q <= 1'b0;
      hold_q.write <= 1'b0;
    end
  end

  assign s_axil_o = '{
          awready: !aw_valid_q,
          wready: !w_valid_q,
          bresp: answer_word_q.resp,
          bvalid: s_state_q == RESPOND && hold_q.write,
          arready: !ar_valid_q,
          rdata: answer_word_q.data,
          rresp: answer_word_q.resp,
          rvalid: s_state_q == RESPOND && !hold_q.write
      };

  // The slave's side. answer_hold_q stays from the turn of answered_q to the next access.
  m_state_e m_state_q, m_state_d;
  access_t word_q;
  logic addr_valid_q, data_valid_q, addr_ready, response_valid;

  assign addr_ready = word_q.write ? m_axil_i.awready : m_axil_i.arready;
  assign response_valid = word_q.write ? m_axil_i.bvalid : m_axil_i.rvalid;

  always_comb begin
    m_state_d = m_state_q;
    unique case (m_state_q)
      REST: if (asked != answered_q && !m_stop) m_state_d = ISSUE;
      ISSUE: if (response_valid) m_state_d = GIVE;
      default: m_state_d = REST;
    endcase
  end

  always_ff @(posedge m_clk) begin
    m_state_q <= m_state_d;
    if (m_state_q == REST) begin
      if (m_state_d == ISSUE) word_q <= hold_q;
      addr_valid_q <= m_state_d == ISSUE;
      data_valid_q <= m_state_d == ISSUE;
    end else begin
      if (addr_ready) addr_valid_q <= 1'b0;
      if (m_axil_i.wready) data_valid_q <= 1'b0;
    end
    if (m_state_q == ISSUE && response_valid) begin
      answer_hold_q <= word_q.write ? '{resp: m_axil_i.bresp, data: '0} : '{resp: m_axil_i.rresp, data: m_axil_i.rdata};
    end
    if (m_state_q == GIVE) answered_q <= !answered_q;
    if (m_clear) answered_q <= 1'b0;
    if (m_rst) begin
      m_state_q <= REST;
      addr_valid_q <= 1'b0;
      data_valid_q <= 1'b0;
    end
  end

  assign m_axil_o = '{
          awaddr: word_q.addr,
          awprot: word_q.prot,
          awvalid: addr_valid_q && word_q.write,
          wdata: word_q.data,
          wstrb: word_q.strb,
          wvalid: data_valid_q && word_q.write,
          bready: m_state_q == ISSUE && word_q.write,
          araddr: word_q.addr,
          arprot: word_q.prot,
          arvalid: addr_valid_q && !word_q.write,
          rready: m_state_q == ISSUE && !word_q.write
      };

  // Between both
  cdc_restart u_s_restart (
      .clk     (s_clk),
      .rst     (s_rst),
      .quiet_i (1'b1),
      .peer_i  (m_restart),
      .state_o (s_restart),
      .ending_o(),
      .stop_o  (s_stop),
      .clear_o (s_clear)
  );

  cdc_restart u_m_restart (
      .clk     (m_clk),
      .rst     (m_rst),
      .quiet_i (m_state_d == REST),
      .peer_i  (s_restart),
      .state_o (m_restart),
      .ending_o(),
      .stop_o  (m_stop),
      .clear_o (m_clear)
  );

  cdc_bits u_asked (
      .clk   (m_clk),
      .bits_i(asked_q),
      .bits_o(asked)
  );

  cdc_bits u_answered (
      .clk   (s_clk),
      .bits_i(answered_q),
      .bits_o(answered)
  );

endmodule
