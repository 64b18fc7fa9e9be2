// Registers by lines of text (docs/integrating/uart_registers.md): r and 4 hexadecimal digits of an address read a word, w and 12 of an
// address and a word write it, t asks for the token of udp_registers. A line is answered before the next is listened to.
module uart_registers
  import axi_pkg::*;
(
    input logic clk,
    input logic rst,

    // Bytes from the line, and answers
    input  logic [7:0] s_axis_tdata,
    input  logic       s_axis_tvalid,  // not heard while a line is answered
    output logic [7:0] m_axis_tdata,
    output logic       m_axis_tvalid,
    input  logic       m_axis_tready,

    // The token of udp_registers
    output logic        show_o,   // pulse: it is asked for
    input  logic [63:0] token_i,  // from the cycle after it on

    output axil_request_t  m_axil_o,
    input  axil_response_t m_axil_i
);

  typedef enum logic [2:0] {
    LISTEN,
    SHOW,    // the token comes
    WAIT,    // for the bus
    LEAD,    // the answer's first character
    DIGITS,
    NEWLINE
  } state_e;

  localparam logic [7:0] OKAY = "=";
  localparam logic [7:0] REFUSED = "!";
  localparam logic [7:0] WHAT = "?";

  state_e state_q, state_d;
  logic [7:0] command_q, lead_q, lead_d;
  logic [63:0] value_q, value_d;  // digits that came; those that go, the first highest
  logic [4:0] digits_q, digits_d;  // of value_q
  logic begun_q, wrong_q;  // of the line: there is something; it is none of these
  logic aw_q, w_q, ar_q, ends, digit, fits, sent;

  function automatic logic is_digit(input logic [7:0] text);
    return text inside {["0" : "9"], ["a" : "f"], ["A" : "F"]};
  endfunction

  // Of a digit: letters are those from 0x41 and 0x61 on
  function automatic logic [3:0] value_of(input logic letter, input logic [3:0] low);
    return letter ? low + 4'd9 : low;
  endfunction

  function automatic logic [7:0] text_of(input logic [3:0] value);
    return value > 4'd9 ? 8'd87 + 8'(value) : 8'd48 + 8'(value);
  endfunction

  assign ends  = s_axis_tdata == "\n";
  assign digit = begun_q && is_digit(s_axis_tdata) && digits_q != 5'd16;
  assign sent  = m_axis_tvalid && m_axis_tready;
  assign show_o = state_q == LISTEN && state_d == SHOW;

  always_comb begin
    unique case (command_q)
      "r": fits = digits_q == 5'd4;
      "w": fits = digits_q == 5'd12;
      "t": fits = digits_q == '0;
      default: fits = 1'b0;
    endcase
  end

  always_comb begin
    state_d = state_q;
    value_d = value_q;
    digits_d = digits_q;
    lead_d = lead_q;
    unique case (state_q)
      LISTEN:
      if (s_axis_tvalid) begin
        if (digit) begin
          value_d  = {value_q[59:0], value_of(s_axis_tdata[6], s_axis_tdata[3:0])};
          digits_d = digits_q + 1'b1;
        end
        if (ends && begun_q) begin
          lead_d  = OKAY;
          state_d = command_q == "t" ? SHOW : WAIT;
          if (wrong_q || !fits) begin
            lead_d = WHAT;
            digits_d = '0;
            state_d = LEAD;
          end
        end
      end
      SHOW: begin
        value_d  = token_i;
        digits_d = 5'd16;
        state_d  = LEAD;
      end
      WAIT: begin
        if (m_axil_i.rvalid) value_d = {m_axil_i.rdata, 32'b0};
        if (m_axil_i.bvalid) value_d = {value_q[31:0], 32'b0};
        digits_d = 5'd8;
        if (m_axil_i.rvalid ? m_axil_i.rresp != '0 : m_axil_i.bresp != '0) begin
          value_d  = {2'b0, m_axil_i.rvalid ? m_axil_i.rresp : m_axil_i.bresp, 60'b0};
          digits_d = 5'd1;
          lead_d   = REFUSED;
        end
        if (m_axil_i.rvalid || m_axil_i.bvalid) state_d = LEAD;
        else begin
          value_d  = value_q;
          digits_d = digits_q;
          lead_d   = lead_q;
        end
      end
      LEAD: if (sent) state_d = digits_q == '0 ? NEWLINE : DIGITS;
      DIGITS:
      if (sent) begin
        value_d  = value_q << 4;
        digits_d = digits_q - 1'b1;
        if (digits_q == 5'd1) state_d = NEWLINE;
      end
      default: if (sent) state_d = LISTEN;  // digits_q is 0
    endcase
  end

  always_comb begin
    m_axis_tdata = text_of(value_q[63:60]);
    if (state_q == LEAD) m_axis_tdata = lead_q;
    if (state_q == NEWLINE) m_axis_tdata = "\n";
  end

  assign m_axis_tvalid = state_q inside {LEAD, DIGITS, NEWLINE};

  assign m_axil_o = '{
          awaddr: value_q[47:32],
          awprot: '0,
          awvalid: aw_q,
          wdata: value_q[31:0],
          wstrb: '1,
          wvalid: w_q,
          bready: state_q == WAIT,
          araddr: value_q[15:0],
          arprot: '0,
          arvalid: ar_q,
          rready: state_q == WAIT
      };

  always_ff @(posedge clk) begin
    state_q <= state_d;
    value_q <= value_d;
    digits_q <= digits_d;
    lead_q <= lead_d;
    if (state_q == LISTEN && s_axis_tvalid) begin
      begun_q <= !ends && (begun_q || !(s_axis_tdata inside {" ", "\r"}));
      if (!begun_q) command_q <= s_axis_tdata;
      wrong_q <= begun_q && (wrong_q || !(digit || s_axis_tdata inside {" ", "\r"}));
    end

    aw_q <= state_q == LISTEN ? state_d == WAIT && command_q == "w" : aw_q && !m_axil_i.awready;
    w_q  <= state_q == LISTEN ? state_d == WAIT && command_q == "w" : w_q && !m_axil_i.wready;
    ar_q <= state_q == LISTEN ? state_d == WAIT && command_q == "r" : ar_q && !m_axil_i.arready;

    if (rst) begin
      state_q <= LISTEN;
      digits_q <= '0;
      begun_q <= 1'b0;
      wrong_q <= 1'b0;
      aw_q <= 1'b0;
      w_q <= 1'b0;
      ar_q <= 1'b0;
    end
  end

endmodule
