// Registers over UDP (docs/integrating/udp_registers.md): a datagram holds reads and writes, which are done in order; the same
// datagram goes back with what was read. One is served at a time, byte by byte. The first to say hello is the peer and is told the
// token, which every write must have; it is fixed then, or when it is shown before. The wire is not protected: who can read it has the token as well.
module udp_registers
  import axi_pkg::*;
  import udp_registers_pkg::*;
(
    input logic clk,
    input logic rst,

    input logic [47:0] mac_i,   // of the board
    input logic [15:0] port_i,  // of UDP
    input logic        stir_i,  // noise, or of another clock: the token depends on it

    // For who stands beside the board (uart_registers)
    input  logic        show_i,   // pulse: he wants the token, which is fixed with it
    output logic [63:0] token_o,  // from the cycle after that on

    // Ethernet frames without FCS
    input  logic [7:0] s_axis_tdata,
    input  logic       s_axis_tlast,
    input  logic       s_axis_tuser,   // with tlast: cut
    input  logic       s_axis_tvalid,
    output logic       s_axis_tready,

    // Answers, with gaps
    output logic [7:0] m_axis_tdata,
    output logic       m_axis_tlast,
    output logic       m_axis_tvalid,
    input  logic       m_axis_tready,

    output axil_request_t  m_axil_o,
    input  axil_response_t m_axil_i,

    output logic answered_o,  // pulse: a datagram was done
    output logic refused_o    // pulse: one was answered, but not done
);

  localparam int unsigned AT_W = $bits(at_e);
  localparam int unsigned STEP_W = $clog2(ACCESS_BYTES + 1);

  typedef logic [AT_W-1:0] at_t;

  typedef enum logic [2:0] {
    RECEIVE,
    JUDGE,
    FETCH,  // an access from the memory
    BEGIN,
    WAIT,   // for its answer
    STORE,  // it
    READ_BYTE,
    SEND_BYTE
  } state_e;

  // A frame's head
  typedef struct packed {
    logic [79:0] source;  // MAC and IPv4 address
    logic [15:0] length;
    logic [7:0]  kind;
    logic [7:0]  count;
    logic [31:0] number;
    logic [63:0] token;
  } head_t;

  state_e state_q, state_d;
  at_t at_q, at_d;  // a byte of the frame: the one that comes, is fetched, stored or sent
  logic [STEP_W-1:0] step_q, step_d;  // bytes of an access
  at_t end_q;  // behind the last byte of the datagram
  head_t head_q;
  access_t access_q, access_d;
  status_e status_q, status_d;
  logic ours_q, writes_q;  // of the frame: it is a datagram for this board; it has a write
  logic aw_q, w_q, ar_q;  // to be taken by the registers
  logic [79:0] peer_q;
  logic [63:0] token_q, noise_q;
  logic [31:0] number_q;  // of the last datagram that was done
  logic known_q, fixed_q, numbered_q, is_peer, take, in_access, operation, right, heard, skip, answers, sent;

  function automatic logic is_of(input at_t at, input at_e from, input int unsigned bytes);
    return at >= from && 32'(at) < 32'(from) + bytes;
  endfunction

  // Byte `at` of a field of so many bytes that begins at `from`
  function automatic logic [7:0] byte_of(input logic [63:0] value, input int unsigned bytes, input at_e from,
                                         input at_t at);
    return 8'(value >> (8 * (3'(bytes - 1) - 3'(at - from))));
  endfunction

  // Whether a byte is as a datagram for this board has it
  function automatic logic fits(input at_t at, input logic [7:0] data, input logic [47:0] mac, input logic [15:0] port);
    if (is_of(at, AT_DESTINATION_MAC, 6)) return data == byte_of(64'(mac), 6, AT_DESTINATION_MAC, at);
    if (is_of(at, AT_ETHERTYPE, 2)) return data == byte_of(64'h0800, 2, AT_ETHERTYPE, at);
    if (at == AT_VERSION_IHL) return data == 8'h45;
    if (is_of(at, AT_FRAGMENT, 2)) return (data & byte_of(64'h3fff, 2, AT_FRAGMENT, at)) == '0;  // none
    if (at == AT_PROTOCOL) return data == 8'd17;
    if (is_of(at, AT_PORT, 2)) return data == byte_of(64'(port), 2, AT_PORT, at);
    if (is_of(at, AT_MAGIC, 5)) return data == byte_of(64'(MAGIC), 5, AT_MAGIC, at);
    if (at == AT_KIND) return data == HELLO || data == ACCESS;
    if (at == AT_STATUS) return data == '0;
    if (at == AT_COUNT) return 32'(data) <= MAX_ACCESSES;
    return 1'b1;
  endfunction

  // Where the answer's byte `at` was in the request: the two ends of each layer change places
  function automatic at_t origin(input at_t at);
    if (is_of(at, AT_DESTINATION_MAC, 6)) return at + at_t'(AT_SOURCE_MAC - AT_DESTINATION_MAC);
    if (is_of(at, AT_SOURCE_MAC, 6)) return at - at_t'(AT_SOURCE_MAC - AT_DESTINATION_MAC);
    if (is_of(at, AT_SOURCE_IP, 4)) return at + at_t'(AT_DESTINATION_IP - AT_SOURCE_IP);
    if (is_of(at, AT_DESTINATION_IP, 4)) return at - at_t'(AT_DESTINATION_IP - AT_SOURCE_IP);
    if (is_of(at, AT_SOURCE_PORT, 2)) return at + at_t'(AT_PORT - AT_SOURCE_PORT);
    if (is_of(at, AT_PORT, 2)) return at - at_t'(AT_PORT - AT_SOURCE_PORT);
    return at;
  endfunction

  // The frame: as it came, then as it goes back
  logic [7:0] memory[1 << AT_W];
  logic [7:0] byte_q;
  logic store;

  assign store = take || state_q == STORE;

  always_ff @(posedge clk) begin
    if (store) memory[at_q] <= state_q == STORE ? access_q.operation : s_axis_tdata;
    byte_q <= memory[state_q inside {READ_BYTE, SEND_BYTE} ? origin(at_q) : at_q];
  end

  assign s_axis_tready = state_q == RECEIVE;
  assign take = state_q == RECEIVE && s_axis_tvalid;
  assign is_peer = known_q && head_q.source == peer_q;
  assign skip = access_q.operation == WRITE && status_q == REPEATED;
  assign answers = m_axil_i.bvalid || m_axil_i.rvalid;
  assign in_access = at_q >= AT_ACCESSES && at_q < end_q;
  assign operation = in_access && 3'(at_q) == 3'(AT_ACCESSES);
  assign right = fits(at_q, s_axis_tdata, mac_i, port_i) && !(operation && !(s_axis_tdata inside {READ, WRITE})) &&
      !(in_access && 3'(at_q) == 3'(AT_ACCESSES + 1) && s_axis_tdata != '0);
  assign heard = ours_q && at_q >= end_q && head_q.length == 16'(end_q - at_t'(AT_SOURCE_PORT)) &&
      !(head_q.kind == HELLO && head_q.count != '0);
  assign sent = state_q == SEND_BYTE && m_axis_tready;

  always_comb begin
    state_d = state_q;
    at_d = at_q;
    step_d = step_q + 1'b1;
    access_d = access_q;
    status_d = status_q;
    unique case (state_q)
      RECEIVE: begin
        if (take && at_q != '1) at_d = at_q + 1'b1;
        if (take && s_axis_tlast) state_d = JUDGE;
      end
      JUDGE: begin
        step_d = '0;
        at_d   = '0;
        if (known_q ? !is_peer : head_q.kind != HELLO) status_d = NOT_PEER;
        else if (writes_q && head_q.token != token_q) status_d = NO_TOKEN;
        else if (head_q.kind != HELLO && numbered_q && head_q.number == number_q) status_d = REPEATED;
        else status_d = DONE;
        if (!heard) begin
          state_d = RECEIVE;
        end else if (head_q.count == '0 || status_d inside {NOT_PEER, NO_TOKEN}) begin
          state_d = READ_BYTE;
        end else begin
          state_d = FETCH;
          at_d = at_t'(AT_ACCESSES);
        end
      end
      FETCH: begin
        access_d = {access_q[$bits(access_t)-9:0], byte_q};  // one cycle behind at_q
        if (step_q == STEP_W'(ACCESS_BYTES)) state_d = BEGIN;
        else at_d = at_q + 1'b1;
      end
      BEGIN: begin
        at_d = at_q - at_t'(ACCESS_BYTES);
        step_d = '0;
        state_d = WAIT;
        if (skip) begin
          access_d.operation = '0;
          state_d = STORE;
        end
      end
      WAIT: begin
        step_d = '0;
        if (answers) begin
          if (m_axil_i.rvalid) access_d.data = m_axil_i.rdata;
          access_d.operation = 8'(m_axil_i.rvalid ? m_axil_i.rresp : m_axil_i.bresp);
          state_d = STORE;
        end
      end
      STORE: begin
        at_d = at_q + 1'b1;
        access_d = access_q << 8;
        if (step_q == STEP_W'(ACCESS_BYTES - 1)) begin
          step_d  = '0;
          state_d = FETCH;
          if (at_d == end_q) begin
            state_d = READ_BYTE;
            at_d = '0;
          end
        end
      end
      READ_BYTE: state_d = SEND_BYTE;
      default: begin
        if (sent) begin
          at_d = m_axis_tlast ? '0 : at_q + 1'b1;
          state_d = m_axis_tlast ? RECEIVE : READ_BYTE;
        end
      end
    endcase
  end

  always_comb begin
    m_axis_tdata = byte_q;
    if (is_of(at_q, AT_UDP_CHECKSUM, 2)) m_axis_tdata = '0;  // none (RFC 768)
    if (at_q == AT_KIND) m_axis_tdata = head_q.kind | ANSWER;
    if (at_q == AT_STATUS) m_axis_tdata = status_q;
    if (is_of(at_q, AT_TOKEN, 8)) begin
      m_axis_tdata = head_q.kind == HELLO && status_q == DONE ? byte_of(token_q, 8, AT_TOKEN, at_q) : '0;
    end
  end

  assign token_o = token_q;
  assign m_axis_tlast = at_q == end_q - 1'b1;
  assign m_axis_tvalid = state_q == SEND_BYTE;
  assign m_axil_o = '{
          awaddr: access_q.address,
          awprot: '0,
          awvalid: aw_q,
          wdata: access_q.data,
          wstrb: '1,
          wvalid: w_q,
          bready: state_q == WAIT,
          araddr: access_q.address,
          arprot: '0,
          arvalid: ar_q,
          rready: state_q == WAIT
      };

  always_ff @(posedge clk) begin
    state_q <= state_d;
    at_q <= at_d;
    step_q <= step_d;
    access_q <= access_d;
    status_q <= status_d;
    // x^64 + x^63 + x^61 + x^60 + 1; it starts as 0 where nothing else is said
    noise_q <= {noise_q[62:0], ~^{noise_q[63:62], noise_q[60:59]} ^ stir_i};

    if (take) begin
      ours_q   <= (at_q == '0 || ours_q) && right && !(s_axis_tlast && s_axis_tuser);
      writes_q <= at_q != '0 && (writes_q || (operation && s_axis_tdata == WRITE));
      if (at_q == '0) end_q <= '1;
      if (is_of(at_q, AT_SOURCE_MAC, 6) || is_of(at_q, AT_SOURCE_IP, 4)) begin
        head_q.source <= {head_q.source[71:0], s_axis_tdata};
      end
      if (is_of(at_q, AT_UDP_LENGTH, 2)) head_q.length <= {head_q.length[7:0], s_axis_tdata};
      if (at_q == AT_KIND) head_q.kind <= s_axis_tdata;
      if (at_q == AT_COUNT) begin
        head_q.count <= s_axis_tdata;
        end_q <= at_t'(AT_ACCESSES) + at_t'(s_axis_tdata * ACCESS_BYTES);
      end
      if (is_of(at_q, AT_NUMBER, 4)) head_q.number <= {head_q.number[23:0], s_axis_tdata};
      if (is_of(at_q, AT_TOKEN, 8)) head_q.token <= {head_q.token[55:0], s_axis_tdata};
    end

    if (state_q == JUDGE && heard && status_d == DONE) begin
      numbered_q <= head_q.kind == ACCESS;
      number_q   <= head_q.number;
      peer_q  <= head_q.source;
      known_q <= 1'b1;
    end
    if (show_i || (state_q == JUDGE && heard && status_d == DONE)) begin
      if (!fixed_q) token_q <= noise_q;
      fixed_q <= 1'b1;
    end

    aw_q <= state_q == BEGIN ? access_q.operation == WRITE && !skip : aw_q && !m_axil_i.awready;
    w_q  <= state_q == BEGIN ? access_q.operation == WRITE && !skip : w_q && !m_axil_i.wready;
    ar_q <= state_q == BEGIN ? access_q.operation == READ : ar_q && !m_axil_i.arready;
    answered_o <= state_q == JUDGE && heard && status_d inside {DONE, REPEATED};
    refused_o  <= state_q == JUDGE && heard && status_d inside {NO_TOKEN, NOT_PEER};

    if (rst) begin
      state_q <= RECEIVE;
      at_q <= '0;
      known_q <= 1'b0;
      fixed_q <= 1'b0;
      numbered_q <= 1'b0;
      aw_q <= 1'b0;
      w_q <= 1'b0;
      ar_q <= 1'b0;
      answered_o <= 1'b0;
      refused_o <= 1'b0;
    end
  end

endmodule
